import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionId } from '../../src/contract/index.js';
import { stopOf } from './ledger.js';
import {
  claim,
  EVERYTHING,
  gpusOf,
  look,
  newPool,
  openPool,
  type PoolLedger,
  seen,
  serve,
  startMembers,
  turn,
} from './models.js';
import { query } from './upkeep.js';

let ledger: PoolLedger;
let member: string;
beforeAll(async () => {
  ledger = await openPool();
  [member = ''] = ledger.members;
});
afterAll(() => ledger.store.close());

const by = () => ({ userId: ledger.admin.userId, sealedEnvironment: Buffer.from('sealed') });
const pool = async (name = 'warm') => {
  const found = await ledger.models.pool(name, EVERYTHING);
  if (found === null) throw new Error('no pool');
  return found;
};

test('members that are missing are named once, and are READY when their session runs', async () => {
  expect(await pool()).toMatchObject({
    membersWanted: 1,
    members: [{ ordinal: 0, state: 'READY', node: 'n1' }],
    claims: 0,
  });
  await ledger.models.changePool('warm', { members: 2 }, 'admin');
  const first = await ledger.models.memberWork('warm');
  expect(first).toMatchObject({
    outcome: 'lives',
    submit: [{ ordinal: 1 }],
    stop: [],
    from: { pool: { name: 'warm' } },
  });
  expect(await ledger.models.memberWork('warm')).toEqual(first);
  expect((await pool()).members[1]).toMatchObject({ state: 'WAITING', node: null });
  expect(await startMembers(ledger)).toEqual([first.submit[0]?.sessionId]);
  expect(await ledger.models.memberWork('warm')).toMatchObject({ submit: [], stop: [], from: null });
  expect(await ledger.models.poolOfMember(first.submit[0]?.sessionId ?? '')).toBe('warm');
  expect(await ledger.models.poolOfMember('nobody')).toBeNull();
});

test('one too many drains and is stopped once it is empty; wanted again, it comes back', async () => {
  const last = (await pool()).members[1]?.sessionId ?? '';
  await ledger.models.changePool('warm', { members: 1 }, 'admin');
  expect((await ledger.models.memberWork('warm')).stop).toEqual([last]);
  expect((await ledger.models.memberWork('warm')).stop).toEqual([last]);
  expect((await pool()).members[1]?.state).toBe('DRAINING');
  await ledger.models.changePool('warm', { members: 2 }, 'admin');
  expect(await ledger.models.memberWork('warm')).toMatchObject({ submit: [], stop: [] });
  await ledger.models.changePool('warm', { members: 1 }, 'admin');
  await ledger.models.memberWork('warm');
  await ledger.store.sessions.requestStop(stopOf(last as SessionId));
  await ledger.store.sessions.finish(last as SessionId, 1, true);
  expect(await ledger.models.memberWork('warm')).toMatchObject({ submit: [], stop: [] });
  expect((await pool()).members).toHaveLength(1);
});

test('an engine of no claim is a hole until it is gone, and is removed; a silent agent and a GPU that was not measured are holes', async () => {
  const holes = async () => (await ledger.models.snapshot('warm'))?.gpus[0]?.holes;
  expect(await look(ledger, [], { unknownEngines: ['eng_lost'] })).toEqual({
    kick: ['warm'],
    signal: [],
    remove: ['eng_lost'],
  });
  expect(await holes()).toEqual(['an engine of no claim: eng_lost']);
  expect(await look(ledger, [seen('eng_lost')])).toMatchObject({ kick: [], remove: ['eng_lost'] });
  expect(await look(ledger, [])).toMatchObject({ kick: ['warm'], remove: [] });
  expect(await look(ledger, [])).toMatchObject({ kick: [] });
  expect(await holes()).toEqual([]);
  await query(ledger, `UPDATE pool_members SET looked_at = now() - interval '31 seconds'`);
  expect(await holes()).toEqual(['agent silent']);
  expect((await look(ledger, [], { devices: [] })).kick).toEqual(['warm']);
  const device = (await ledger.models.snapshot('warm'))?.gpus[0]?.device ?? '';
  await look(ledger, [], { devices: [{ id: device, usableBytes: null }] });
  expect((await ledger.models.snapshot('warm'))?.gpus[0]?.usableBytes).toBeNull();
  await look(ledger, []);
  const stranger = await ledger.models.recordLooks(
    'n1',
    [
      {
        memberSessionId: 'ses_none',
        at: new Date().toISOString(),
        engines: [],
        unknownEngines: ['eng_x'],
        devices: [],
        cachedArtifacts: [],
      },
    ],
    () => false,
  );
  expect(stranger).toEqual({ kick: [], signal: [], remove: ['eng_x'] });
});

test('a member that ends takes its engines with it, whoever looks first; its claim is placed anew', async () => {
  const a = await serve(ledger, 'a');
  expect((await ledger.models.route(a.claimId))?.targets).toHaveLength(1);
  await ledger.store.sessions.markEnding({ ...stopOf(member as SessionId), attempt: 1 });
  expect(await ledger.models.route(a.claimId)).toMatchObject({ targets: [] });
  expect((await ledger.models.claimLife(a.claimId)).orders).toEqual([]);
  expect(await ledger.models.engineOrder('n1', a.instanceId)).toBeNull();
  await turn(ledger, {});
  await turn(ledger, {});
  expect(await ledger.models.settleOrder(a.instanceId, 1, { outcome: 'gone' })).toEqual({ pool: 'warm' });
  expect(await ledger.models.claim('a', EVERYTHING)).toMatchObject({ phase: 'PENDING', instances: [] });
  const { items } = await ledger.models.events(a.claimId, { limit: 50 });
  expect(items.filter(({ kind }) => kind === 'ended')).toHaveLength(1);
  await ledger.store.sessions.finish(member as SessionId, 1, true);
  const { submit } = await ledger.models.memberWork('warm');
  expect(submit).toMatchObject([{ ordinal: 0 }]);
  expect(submit[0]?.sessionId).not.toBe(member);
  expect(await gpusOf(ledger)).toEqual([]);
});

test('a refused member says why the pool is empty, and the next is tried later', async () => {
  const { submit, from } = await ledger.models.memberWork('warm');
  const sessionId = (submit[0]?.sessionId ?? '') as SessionId;
  const spec = { kind: 'system', group: 'default' } as never;
  if (from === null) throw new Error('nothing to submit');
  const submission = {
    sessionId,
    principal: from.owner,
    spec,
    sealedSecrets: null,
    submittedAt: new Date().toISOString(),
  };
  await ledger.store.idempotency.putSubmission(submission);
  await ledger.store.sessions.recordRefusal(sessionId, {
    code: 'quota_exceeded',
    detail: '2 GPUs are above the quota of 1',
  });
  const waits = await ledger.models.snapshot('warm');
  expect(waits?.membersWaitFor).toMatchObject({
    code: 'QuotaExceeded',
    message: expect.stringContaining('above the quota'),
  });
  expect(await ledger.models.memberWork('warm')).toMatchObject({ outcome: 'lives', submit: [] });
  expect((await ledger.models.snapshot('warm'))?.membersWaitFor?.message).toContain('above the quota');
  await query(ledger, `UPDATE pool_members SET closed_at = closed_at - interval '11 seconds' WHERE ready_at IS NULL`);
  expect((await ledger.models.memberWork('warm')).submit).toHaveLength(1);
});

test('pools: made once, refused with a project or group that is not there, removed only without claims, and over when the last member is', async () => {
  expect(await ledger.models.createPool(newPool(), by())).toBe('exists');
  expect(await ledger.models.createPool({ ...newPool({ name: 'p' }), group: 'none' }, by())).toBe('no-group');
  expect(await ledger.models.createPool({ ...newPool({ name: 'p' }), project: 'default/none' }, by())).toBe(
    'no-project',
  );
  expect(await ledger.models.createPool(newPool({ name: 'p', projects: ['default/none'] }), by())).toBe('no-project');
  expect(await ledger.models.pool('p', EVERYTHING)).toBeNull();
  expect(await ledger.models.createPool(newPool({ name: 'p', members: 0 }), by())).toMatchObject({
    name: 'p',
    membersWanted: 0,
  });
  expect(await ledger.models.changePool('p', { policy: { noWakeReserveWhileAsleep: true } }, 'admin')).toMatchObject({
    policy: { placement: 'spread', noWakeReserveWhileAsleep: true },
  });
  expect(await ledger.models.pool('p', { projects: ['other/project'] })).toBeNull();
  expect((await ledger.models.pools({ limit: 1 }, { projects: ['default/default'] })).items).toHaveLength(1);
  expect((await ledger.models.open()).pools).toEqual(['p', 'warm']);
  expect(await ledger.models.removePool('warm', 'admin')).toBe('has-claims');
  expect(await ledger.models.removePool('p', 'admin')).toBe('removed');
  expect(await ledger.models.removePool('p', 'admin')).toBe('removed');
  expect(await ledger.models.removePool('none', 'admin')).toBe('missing');
  expect((await ledger.models.memberWork('p')).outcome).toBe('ended');
  expect((await ledger.models.memberWork('none')).outcome).toBe('missing');
  expect(await ledger.models.createPool(newPool({ name: 'p', members: 0 }), by())).toMatchObject({ name: 'p' });
  expect(await ledger.models.changePool('warm', { drain: true }, 'admin')).toMatchObject({
    isDraining: true,
    membersWanted: 0,
  });
});

test('claims: made once an id, refused by the check and by what is not there; a change is refused or written whole', async () => {
  await ledger.models.endClaim('a', 'admin');
  const made = await claim(ledger, 'b');
  await expect(claim(ledger, 'b')).rejects.toThrow('name-taken');
  await expect(claim(ledger, 'c', { pool: 'none' })).rejects.toThrow('no-pool');
  const decide = () => ({ field: '/perGpu', message: 'no room', data: {} });
  const refused = await ledger.models.changeClaim('b', { priority: 3 }, { actor: 'admin', decide });
  expect(refused).toEqual({ problem: 'refused', field: '/perGpu', message: 'no room', data: {} });
  const change = { perGpu: { kvFloor: 7 }, sleep: { never: true }, kvMin: 9 };
  const changed = await ledger.models.changeClaim(made.id, change, { actor: 'admin', decide: () => null });
  expect(changed).toMatchObject({
    kvFloorBytes: 7,
    kvMinBytes: 9,
    priority: 0,
    sleep: { never: true, afterSeconds: null },
  });
  const seenBy = await ledger.models.snapshot('warm');
  expect(seenBy?.claims.find(({ id }) => id === made.id)).toMatchObject({
    kvFloorBytes: 9,
    declaredFloorBytes: 7,
    neverSleeps: true,
  });
  expect(
    (await ledger.models.claims({ limit: 10, pool: 'warm' }, { projects: ['default/default'] })).items,
  ).toHaveLength(1);
  expect((await ledger.models.claims({ limit: 10 }, { projects: [] })).items).toEqual([]);
  expect((await ledger.models.open()).claims).toEqual([made.id]);
});
