import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { accountOf, heldOf } from '../../src/models/account.js';
import { kvLimits } from '../../src/models/kv-limits.js';
import { isReleased, type Tenant } from '../../src/models/tenant.js';
import { gpu, tenant } from './gpu.js';

const MIB = 2 ** 20;
const bytes = (most: number) => fc.integer({ min: 1, max: most * MIB });
const anyTenant = fc.record({
  phase: fc.constantFrom<Tenant['phase'][]>('ACTIVE', 'SLEEPING', 'WAKING', 'STARTING'),
  footprintBytes: bytes(4000),
  kvFloorBytes: bytes(900),
  kvUsedBytes: bytes(900),
  residueBytes: fc.option(bytes(300)),
  priority: fc.integer({ min: 0, max: 9 }),
  load: fc.option(fc.record({ running: fc.nat(9), waiting: fc.nat(9) })),
  kvMaxBytes: fc.option(bytes(2000)),
  isWakeAsked: fc.boolean(),
});
const tenants = fc
  .array(anyTenant, { minLength: 1, maxLength: 12 })
  .map((list) => list.map((fields, n) => tenant(`m${n}`, fields)));

describe('KV limits of a GPU', () => {
  it('promise every byte once, and leave none where somebody is awake and nothing is capped', () => {
    fc.assert(
      fc.property(tenants, fc.boolean(), bytes(90_000), (list, releases, usableBytes) => {
        const one = gpu(list, { usableBytes });
        const asDivided = list.map((each) => ({ ...each, isWakeAsked: false }));
        const spare = asDivided.reduce((rest, each) => rest - heldOf(each, releases), usableBytes);
        fc.pre(spare >= 0);
        const limits = kvLimits(one, releases);
        const taken = asDivided.reduce((sum, each) => {
          if (isReleased(each, releases)) return sum + (each.residueBytes ?? 0);
          const floor = heldOf(each, releases) - Math.max(each.kvFloorBytes, each.kvUsedBytes);
          return sum + floor + (limits.get(each.model) ?? 0);
        }, 0);
        expect(taken).toBeLessThanOrEqual(usableBytes);
        const open = list.some(({ phase, kvMaxBytes }) => phase !== 'SLEEPING' && kvMaxBytes === null);
        if (open) expect(taken).toBe(usableBytes);
      }),
    );
  });
  it('never fall below what is mapped or promised', () => {
    fc.assert(
      fc.property(tenants, fc.boolean(), bytes(90_000), (list, releases, usableBytes) => {
        const limits = kvLimits(gpu(list, { usableBytes }), releases);
        for (const each of list) {
          const isGone = isReleased({ ...each, isWakeAsked: false }, releases);
          expect(limits.get(each.model)).toBeGreaterThanOrEqual(
            isGone ? each.kvUsedBytes : Math.max(each.kvFloorBytes, each.kvUsedBytes),
          );
        }
      }),
    );
  });
  it('do not depend on the order of the tenants', () => {
    fc.assert(
      fc.property(tenants, fc.boolean(), (list, releases) => {
        const one = kvLimits(gpu(list), releases);
        expect(kvLimits(gpu(list.toReversed()), releases)).toEqual(one);
        expect(accountOf(gpu(list.toReversed()), releases)).toEqual(accountOf(gpu(list), releases));
      }),
    );
  });
});
