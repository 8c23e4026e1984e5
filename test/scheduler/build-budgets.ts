import { fromGpuHours, HOUR_MS } from '../../src/budgets/gpu-time.js';
import type { BudgetId } from '../../src/contract/ids.js';
import type { Snapshot, SnapshotBudgets, SnapshotPending, SnapshotRunning } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { node, type SessionShape, type SnapshotShape, session, slots, snapshot } from './build.js';
import { at, booked, type RunningShape, running } from './build-running.js';

/** Ids have no i, l, o and u in them. */
export const budgetId = (name: string): BudgetId =>
  `bgt_${name.toLowerCase().replaceAll('o', '0').replaceAll(/[il]/gu, '1').replaceAll('u', 'v').padStart(26, '0')}` as BudgetId;

export interface TreeShape {
  /** `A/A1` is a child of `A`; each with its weight. The root is made. */
  readonly weights: Readonly<Record<string, number>>;
  /** GPU-h within the window, by path of the leaf. */
  readonly use?: Readonly<Record<string, number>>;
  readonly unallocated?: Readonly<Record<string, number>>;
  readonly elsewhere?: Readonly<Record<string, number>>;
  readonly projects?: Readonly<Record<string, number>>;
  /** GPU-h; 64 GPUs for a week unless said. */
  readonly capacity?: number;
  readonly factors?: Readonly<Record<string, number>>;
  readonly graceSeconds?: number;
}

const last = (path: string): string => path.split('/').at(-1) as string;

/** The tree as a snapshot has it; a budget's id is made from the last name of its path. */
export function budgets(shape: TreeShape): SnapshotBudgets {
  const { use = {}, unallocated = {}, elsewhere = {}, projects = {}, factors = {} } = shape;
  const names = [...new Set([use, unallocated, elsewhere].flatMap((each) => Object.keys(each)))];
  const time = (of: Readonly<Record<string, number>>, name: string): number => fromGpuHours(of[name] ?? 0);
  return {
    windowSeconds: 168 * 3600,
    capacity: fromGpuHours(shape.capacity ?? 64 * 168),
    nodes: [
      { id: budgetId('root'), name: 'root', parentId: null, domainId: null, weight: 1 },
      ...Object.entries(shape.weights).map(([path, weight]) => ({
        id: budgetId(last(path)),
        name: last(path),
        parentId: budgetId(path.includes('/') ? last(path.slice(0, path.lastIndexOf('/'))) : 'root'),
        domainId: 'dom_lab',
        weight,
      })),
    ],
    leaves: names.map((path) => ({
      id: budgetId(last(path)),
      use: time(use, path),
      committedElsewhere: time(elsewhere, path),
      unallocatedUse: time(unallocated, path),
    })),
    projects: Object.entries(projects).map(([id, hours]) => ({ id, unallocatedUse: fromGpuHours(hours) })),
    factors: { ...factors },
    unallocatedGraceSeconds: shape.graceSeconds ?? 30,
  };
}

/** Session `n` of `gpus` GPUs with a minimum runtime of `m` hours, charged to the budget of that name; no grace. */
export const asks = (
  n: number,
  budget: string | null,
  gpus: number,
  m: number,
  rest: SessionShape = {},
): SnapshotPending =>
  session(n, {
    kernels: [slots(1, 1, gpus)],
    budgetId: budget === null ? null : budgetId(budget),
    minRuntimeSeconds: m * 3600,
    gracePeriodSeconds: 0,
    ...rest,
  });

/** Session `n` runs since `ago` hours on the devices from `first` on of one node. */
export function runs(
  n: number,
  budget: string | null,
  room: {
    readonly gpus: number;
    readonly m: number;
    readonly ago: number;
    readonly node?: string;
    readonly first?: number;
  },
  rest: RunningShape = {},
): SnapshotRunning {
  const { node: name = 'node-a', first = 0, gpus, m, ago } = room;
  return running(n, {
    budgetId: budget === null ? null : budgetId(budget),
    startedAt: at(-60 * ago),
    placedAt: at(-60 * ago),
    minRuntimeSeconds: m * 3600,
    gracePeriodSeconds: 0,
    rooms: [
      { node: name, slots: slots(1, 1, gpus), devices: Array.from({ length: gpus }, (_, d) => `${name}-${first + d}`) },
    ],
    ...rest,
  });
}

/** A group of nodes with 8 GPUs each that orders by fair share. */
export function fairShare(
  tree: TreeShape,
  {
    nodes = [node('node-a', { gpus: 8 })],
    running: holding = [],
    policy = {},
    ...rest
  }: Partial<Omit<SnapshotShape, 'budgets'>> = {},
): Snapshot {
  return snapshot({
    pending: [],
    ...rest,
    running: holding,
    nodes: booked(nodes, holding),
    budgets: budgets(tree),
    policy: { order: 'fair-share', ...policy },
  });
}

/** What a pass decides, by the names of the sessions; `minutes` after NOW. */
export function decided(world: Snapshot, minutes = 0) {
  const plan = planPass(world, at(minutes));
  const nameOf = new Map<string, string>([...world.pending, ...world.running].map(({ id, name }) => [id, name]));
  const name = (id: string): string => nameOf.get(id) ?? id;
  return {
    plan,
    placed: plan.placed.map(({ sessionId }) => name(sessionId)),
    stopped: plan.stops.map(({ sessionId }) => name(sessionId)),
    order: plan.order?.map(name) ?? null,
    waiting: (n: string) => plan.waiting.find(({ sessionId }) => name(sessionId) === n),
  };
}

export const hoursMs = (hours: number): number => hours * HOUR_MS;
