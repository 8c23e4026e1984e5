import type { PoolPlan, PoolSnapshot, SnapshotInstance } from '../../../src/contract/index.js';

/** What a plan may never do, seen from its snapshot alone. Of engines on one GPU where sums are to be exact. */
export function planProblems(snapshot: PoolSnapshot, plan: PoolPlan): readonly string[] {
  return [
    ...busySleepers(snapshot, plan),
    ...snapshot.gpus.flatMap(({ name, usableBytes, holes }) =>
      usableBytes === null || holes.length > 0 ? [] : sums(snapshot, plan, { name, usableBytes }),
    ),
  ];
}

function busySleepers({ instances }: PoolSnapshot, { orders }: PoolPlan): readonly string[] {
  return orders.flatMap(({ kind, instanceId, model }) => {
    const row = instances.find(({ id }) => id === instanceId);
    const isIdle = row?.running === 0 && row.waiting === 0 && row.idleSinceMs !== null;
    return kind === 'sleep' && !isIdle ? [`${model} was to sleep while it served`] : [];
  });
}

interface Gpu {
  readonly name: string;
  readonly usableBytes: number;
}

/** After the plan: no byte is promised twice, a place never takes what an asked wake needs, and all of the cache is shared. */
function sums(snapshot: PoolSnapshot, plan: PoolPlan, { name, usableBytes }: Gpu): readonly string[] {
  const problems: string[] = [];
  const { releases, after } = afterPlan(snapshot, plan, name);
  const figures = (claimId: string) => snapshot.claims.find(({ id }) => id === claimId);
  let promised = 0;
  let held = 0;
  let withAsks = 0;
  let shared = 0;
  let isShared = !plan.holds.some(({ gpus }) => gpus.includes(name)) && after.length > 0;
  let awake = 0;
  for (const { key, row } of after) {
    const claim = figures(row.claimId);
    if (claim === undefined) continue;
    const need = claim.footprintBytes + claim.kvFloorBytes;
    const residue = releases && (row.phase === 'SLEEPING' || row.phase === 'STOPPING') ? row.residueBytes : null;
    const isAsked =
      claim.wakeAskedMs !== null &&
      row.phase === 'SLEEPING' &&
      !plan.calledOff.some(({ claimId }) => claimId === claim.id);
    promised += residue ?? need;
    held += residue ?? claim.footprintBytes + Math.max(claim.kvFloorBytes, row.kvUsedBytes);
    withAsks += isAsked ? need : (residue ?? need);
    shared += residue ?? claim.footprintBytes + (plan.planned[key] ?? Number.NaN);
    if (row.phase === 'STOPPING' || row.gpus.length > 1 || claim.kvMaxBytes !== null) isShared = false;
    if (row.phase !== 'SLEEPING') awake += 1;
  }
  if (promised > usableBytes) problems.push(`${name}: ${promised - usableBytes} bytes promised twice`);
  const placed = plan.places.some(({ gpus, movesFrom }) => movesFrom === null && gpus.includes(name));
  if (placed && withAsks > usableBytes) problems.push(`${name}: a new claim took what a wake was promised`);
  // A cache that grew after its room was given away: nothing rises before it shrinks.
  const raised = plan.limits.some(({ raise }) =>
    raise.some(({ instanceId }) => after.some(({ key }) => key === instanceId)),
  );
  if (held > usableBytes && raised) problems.push(`${name}: a limit rises while caches hold more than there is`);
  if (isShared && held <= usableBytes && awake > 0 && shared !== usableBytes)
    problems.push(`${name}: limits come to ${shared} of ${usableBytes}`);
  return problems;
}

interface After {
  readonly key: string;
  readonly row: SnapshotInstance;
}

function afterPlan(
  snapshot: PoolSnapshot,
  plan: PoolPlan,
  gpu: string,
): { readonly releases: boolean; readonly after: readonly After[] } {
  const phases = { sleep: null, wake: 'WAKING', stop: 'STOPPING' } as const;
  const old = snapshot.instances.map((row) => {
    const order = plan.orders.find(({ instanceId }) => instanceId === row.id);
    return { key: row.id, row: { ...row, phase: (order && phases[order.kind]) ?? row.phase } };
  });
  const [pattern] = snapshot.instances;
  const fresh = plan.places.map(({ claimId, replica, member, gpus }) => ({
    key: `new:${claimId}/${replica}`,
    row: {
      ...(pattern ?? EMPTY),
      id: 'new',
      claimId,
      replica,
      member,
      gpus,
      phase: 'STARTING' as const,
      residueBytes: null,
      kvUsedBytes: 0,
      plannedBytes: null,
    },
  }));
  return {
    releases: snapshot.policy.noWakeReserveWhileAsleep,
    after: [...old, ...fresh].filter(({ row }) => row.gpus.includes(gpu)),
  };
}

const EMPTY: SnapshotInstance = {
  id: '',
  claimId: '',
  replica: 0,
  member: '',
  gpus: ['-'],
  phase: 'STARTING',
  order: null,
  movesFrom: null,
  limitBytes: null,
  plannedBytes: null,
  kvUsedBytes: 0,
  residueBytes: null,
  lastResidueBytes: null,
  hostBytes: null,
  running: null,
  waiting: null,
  idleSinceMs: null,
  awakeSinceMs: 0,
  phaseSinceMs: 0,
  shortBefore: false,
  noSleepBeforeMs: null,
};
