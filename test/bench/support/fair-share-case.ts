import { HOUR_MS } from '../../../src/budgets/gpu-time.js';
import type { BudgetId } from '../../../src/contract/ids.js';
import type { Plan } from '../../../src/contract/plan.js';
import type { Snapshot, SnapshotBudgets, SnapshotRunning } from '../../../src/contract/snapshot.js';
import { planPass } from '../../../src/scheduler/plan-pass.js';
import { booked } from '../../scheduler/build-running.js';
import { type Random, seeded } from './random.js';
import { mixed } from './scale-cases.js';

const id = (n: number): BudgetId => `bgt_${String(n).padStart(26, '0')}` as BudgetId;

/** The root, 5 organisations, 25 programs, and 170 projects that are charged: 4 levels, 201 budgets with the root. */
function tree(random: Random): Pick<SnapshotBudgets, 'nodes'> & { readonly leaves: readonly BudgetId[] } {
  const nodes: SnapshotBudgets['nodes'] = [{ id: id(0), name: 'root', parentId: null, domainId: null, weight: 1 }];
  const leaves: BudgetId[] = [];
  const add = (n: number, parent: number): void => {
    nodes.push({ id: id(n), name: `b${n}`, parentId: id(parent), domainId: 'dom_lab', weight: 1 + random.int(9) });
  };
  for (let n = 1; n <= 5; n += 1) add(n, 0);
  for (let n = 6; n <= 30; n += 1) add(n, 1 + ((n - 6) % 5));
  for (let n = 31; n <= 200; n += 1) {
    add(n, 6 + ((n - 31) % 25));
    leaves.push(id(n));
  }
  return { nodes, leaves };
}

/** Everybody wants more than there is: three of four are charged, and use is what a week of such a queue leaves behind. */
export function fairShareCase(given: {
  readonly nodes: number;
  readonly pending: number;
  readonly percent: number;
}): Snapshot {
  const world = mixed(given);
  const random = seeded(given.pending);
  const { nodes, leaves } = tree(random);
  const charged = <Each extends object>(each: Each): Each & { budgetId: BudgetId | null; preemptible: true } => ({
    ...each,
    preemptible: true,
    budgetId: random.chance(75) ? random.pick(leaves) : null,
  });
  const gpuMs = (hours: number): number => 1000 * HOUR_MS * hours;
  const capacity = gpuMs(given.nodes * 8 * 168);
  return {
    ...world,
    group: { ...world.group, policy: { ...world.group.policy, order: 'fair-share' } },
    budgets: {
      windowSeconds: 168 * 3600,
      capacity,
      nodes,
      leaves: leaves.map((leaf) => ({
        id: leaf,
        use: Math.round((capacity / leaves.length) * (0.5 + random.int(100) / 100)),
        committedElsewhere: 0,
        unallocatedUse: gpuMs(random.int(100)),
      })),
      projects: [],
      factors: {},
      unallocatedGraceSeconds: 30,
    },
    running: world.running.map(charged),
    pending: world.pending.map((each) => ({ ...charged(each), minRuntimeSeconds: each.minRuntimeSeconds * 4 })),
  };
}

/** The same after its passes have been carried out until nobody is stopped any more: what a planner mostly sees; so many wait at most. */
export function settled(world: Snapshot, waiting: number): Snapshot {
  let now = world;
  for (let round = 0; round < 6; round += 1) {
    const plan = planPass(now, now.takenAt);
    if (plan.placed.length + plan.holds.length === 0) break;
    now = carriedOut(now, plan);
  }
  return { ...now, pending: now.pending.slice(0, waiting) };
}

/** Those that are stopped have left, and those that got room, or had some held, run since a minute. */
function carriedOut(world: Snapshot, plan: Plan): Snapshot {
  const gone = new Set<string>(plan.stops.map(({ sessionId }) => sessionId));
  const rooms = new Map(
    [...plan.placed, ...plan.holds].map(({ sessionId, kernels }) => [sessionId as string, kernels]),
  );
  const since = new Date(Date.parse(world.takenAt) - 60_000).toISOString();
  const stay = world.running.filter(({ id: each }) => !gone.has(each));
  const started = world.pending.flatMap((session): SnapshotRunning[] => {
    const kernels = rooms.get(session.id);
    const state = { replicaGroup: null, resumable: true, goneBy: null, attempt: 1 };
    return kernels === undefined ? [] : [{ ...session, ...state, placedAt: since, startedAt: since, kernels }];
  });
  const bare = world.nodes.map((node) => ({
    ...node,
    used: { cpuMilli: 0, memoryBytes: 0 },
    devices: node.devices.map((device) => ({ ...device, heldBy: null, shares: [] })),
  }));
  const running = [...stay, ...started];
  return {
    ...world,
    nodes: booked(bare, running),
    running,
    pending: world.pending.filter((session) => !rooms.has(session.id)),
  };
}
