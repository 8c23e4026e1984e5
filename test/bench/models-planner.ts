/**
 * The pure planner of model claims, in CPU time of one thread: the division of one GPU among 200 models, of 8 GPUs among 39 with
 * the check whether it is needed and the order of writes, and a whole turn of 200 claims on 64 GPUs. Run: npm run bench -- models-planner.
 */
import { kvLimits } from '../../src/models/kv-limits.js';
import { changeIsDue, limitWrites } from '../../src/models/limit-changes.js';
import { planPool } from '../../src/models/plan-pool.js';
import type { PoolGpu, Tenant } from '../../src/models/tenant.js';
import { gib, gpu, tenant } from '../models/gpu.js';
import { claim, device, engine, member, NOW, pool, SERVES, sleeper } from '../models/support/snapshot.js';
import { atMost, info, median, type Result } from './support/report.js';

const ROUNDS = 31;

/** The median of so many rounds, each of `times` calls, in µs of CPU a call. */
function cpuMicros(times: number, work: () => unknown): number {
  for (let warm = 0; warm < times * 3; warm += 1) work();
  const rounds = Array.from({ length: ROUNDS }, () => {
    const before = process.cpuUsage();
    for (let n = 0; n < times; n += 1) work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / times;
  });
  return median(rounds);
}

const model = (n: number): string => `model-${String(n).padStart(3, '0')}`;

/** Small ones under changing loads, a fifth of them asleep. */
const tenantOf = (n: number, bytes: number): Tenant =>
  tenant(model(n), {
    footprintBytes: bytes,
    kvFloorBytes: Math.round(bytes / 4),
    phase: n % 5 === 0 ? 'SLEEPING' : 'ACTIVE',
    residueBytes: n % 5 === 0 ? Math.round(bytes / 20) : null,
    kvUsedBytes: n % 5 === 0 ? 0 : Math.round(bytes / (1 + (n % 7))),
    limitBytes: Math.round(bytes / 2),
    load: { running: n % 4, waiting: n % 3 },
  });

const crowded = (): PoolGpu => gpu(Array.from({ length: 200 }, (_, n) => tenantOf(n, gib(0.25))));

function eight(): () => number {
  const gpus = Array.from({ length: 8 }, (_, g) =>
    gpu(
      Array.from({ length: 39 }, (_model, n) => n)
        .filter((n) => n % 8 === g)
        .map((n) => tenantOf(n, gib(12))),
      { name: `h20-a/${g}` },
    ),
  );
  const look = { recorded: new Map<string, number>(), shortBefore: new Set<string>() };
  return () => {
    let writes = 0;
    for (const one of gpus) {
      const planned = kvLimits(one, true);
      if (changeIsDue(one, planned, look) === null && one.tenants.length === 0) continue;
      const { lower, raise } = limitWrites(one, planned);
      writes += lower.length + raise.length;
    }
    return writes;
  };
}

/** 64 GPUs with three engines each, one of them asleep; eight claims wait, four wakes are asked for. */
function large() {
  const at = (n: number) => ({
    member: `member-n${Math.floor((n % 64) / 8)}`,
    gpus: [`h20-n${Math.floor((n % 64) / 8)}/${n % 8}`],
  });
  const engines = Array.from({ length: 192 }, (_, n) =>
    n % 3 === 0
      ? sleeper(model(n), at(n))
      : engine(model(n), { ...at(n), ...(n % 3 === 1 ? SERVES : {}), idleSinceMs: n % 3 === 1 ? null : NOW - 60_000 }),
  );
  const names = Array.from({ length: 8 }, (_, n) => `n${n}`);
  return pool({
    members: names.map((name) => member(name)),
    gpus: names.flatMap((name) => Array.from({ length: 8 }, (_, n) => device(`${name}/${n}`))),
    engines,
    claims: [
      ...Array.from({ length: 4 }, (_, n) => claim(model(n * 3), { wakeAskedMs: NOW - 1000, lastRequestMs: NOW })),
      ...Array.from({ length: 8 }, (_, n) => claim(model(192 + n), { createdMs: NOW - n })),
    ],
  });
}

export function run(): Promise<Result> {
  const one = crowded();
  const small = eight();
  const snapshot = large();
  const { orders, places, limits, holds } = planPool(snapshot, NOW);
  const rows = [
    atMost(
      { name: 'KV cache of a GPU among 200 models', measured: cpuMicros(200, () => kvLimits(one, true)), unit: 'µs' },
      100,
    ),
    atMost({ name: '39 models on 8 GPUs: divide, needed?, writes', measured: cpuMicros(200, small), unit: 'µs' }, 60),
    atMost(
      {
        name: 'a whole turn, 200 claims on 64 GPUs',
        measured: cpuMicros(10, () => planPool(snapshot, NOW)) / 1000,
        unit: 'ms',
      },
      5,
    ),
    info({
      name: 'what that turn decides',
      measured: orders.length + places.length + limits.length + holds.length,
      unit: 'decisions',
    }),
  ];
  return Promise.resolve({ name: 'models-planner', rows, notes: ['CPU time of one thread, the median of 31 rounds'] });
}
