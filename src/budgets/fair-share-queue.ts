import { type BudgetNode, type BudgetTree, leavesOf, pathTo } from './budget-tree.js';
import { sumsOver } from './claims.js';
import { compareLoads, type GpuTime } from './gpu-time.js';

/** A session that waits, as the order sees it. */
export interface FairShareRequest {
  readonly id: string;
  /** A leaf; null: it is charged to nothing. */
  readonly budgetId: string | null;
  /** m in ms. 0 is unallocated work: free, and stopped for whoever is charged. */
  readonly minRuntimeMs: number;
  /** GPUs × factor, in thousandths. */
  readonly milliGpus: number;
  readonly priority: number;
  /** ms of one clock. */
  readonly submittedMs: number;
  /** Unallocated work is put beside what its leaf, or without one its project, has used for nothing. */
  readonly projectId: string;
}

export interface FairShareState {
  readonly tree: BudgetTree;
  /** Of the leaves: use within the window plus what running work is still protected for (`committedTime`). */
  readonly loads: ReadonlyMap<string, GpuTime>;
  /** Claims of all budgets: a leaf that claims nothing comes last of the allocated. */
  readonly claims: ReadonlyMap<string, number>;
  /** Unallocated use by leaf id, or by project id where there is no budget. */
  readonly unallocatedUse: ReadonlyMap<string, GpuTime>;
}

export const isAllocated = ({ budgetId, minRuntimeMs }: Pick<FairShareRequest, 'budgetId' | 'minRuntimeMs'>): boolean =>
  budgetId !== null && minRuntimeMs > 0;

/** What of a running session is still protected, as GPU-time: GPUs × (start + m − now), 0 when its minimum is over. */
export const committedTime = (
  run: { readonly milliGpus: number; readonly startMs: number; readonly minRuntimeMs: number },
  nowMs: number,
): GpuTime => run.milliGpus * Math.max(0, run.startMs + run.minRuntimeMs - nowMs);

/** `chosen`: it gets its room (now, or as the reservation of the head), and its budget's load grows by GPUs × m. */
export type Verdict = 'chosen' | 'passed';

/**
 * The order of a group under fair share, one request at a time, because each choice changes it. From the root the child
 * with the least load / weight that has pending allocated work below it, down to a leaf, there by priority, then
 * submission. Ties: the older pending request, then the name. Unallocated work follows: least unallocated use first, then
 * submission.
 */
export class FairShareQueue {
  readonly #tree: BudgetTree;
  readonly #loads: Map<string, GpuTime>;
  readonly #classes: readonly LeafQueues[];
  readonly #unallocated: FairShareRequest[];

  constructor(state: FairShareState, pending: readonly FairShareRequest[]) {
    this.#tree = state.tree;
    this.#loads = sumsOver(state.tree, state.loads);
    const allocated = pending.filter(isAllocated);
    const claims = (request: FairShareRequest): boolean => (state.claims.get(request.budgetId ?? '') ?? 0) > 0;
    this.#classes = [allocated.filter(claims), allocated.filter((request) => !claims(request))].map((requests) =>
      leafQueues(state.tree, requests),
    );
    const use = (request: FairShareRequest): GpuTime =>
      state.unallocatedUse.get(request.budgetId ?? request.projectId) ?? 0;
    this.#unallocated = pending
      .filter((request) => !isAllocated(request))
      .sort((a, b) => use(a) - use(b) || a.submittedMs - b.submittedMs || compareText(a.id, b.id));
  }

  /** The next one, taken out of the queue; null at the end. Say what became of it before asking again. */
  next(): FairShareRequest | null {
    for (const queues of this.#classes) {
      const leaf = this.#leastLoaded(queues);
      if (leaf !== undefined) return take(queues, this.#tree, leaf);
    }
    return this.#unallocated.shift() ?? null;
  }

  settle(request: FairShareRequest, verdict: Verdict): void {
    if (verdict === 'passed' || !isAllocated(request)) return;
    for (const { id } of pathTo(this.#tree, request.budgetId ?? '')) {
      this.#loads.set(id, this.load(id) + request.milliGpus * request.minRuntimeMs);
    }
  }

  /** Use plus committed time plus this pass's choices, of any budget. */
  load(budgetId: string): GpuTime {
    return this.#loads.get(budgetId) ?? 0;
  }

  #leastLoaded(queues: LeafQueues): string | undefined {
    if (!queues.oldest.has(this.#tree.rootId)) return undefined;
    let at = this.#tree.rootId;
    for (;;) {
      const children = this.#tree.childrenOf.get(at);
      if (children === undefined) return at;
      let best: BudgetNode | undefined;
      for (const child of children) {
        if (!queues.oldest.has(child.id)) continue;
        if (best === undefined || this.#compare(queues, child, best) < 0) best = child;
      }
      if (best === undefined) return at;
      at = best.id;
    }
  }

  #compare(queues: LeafQueues, a: BudgetNode, b: BudgetNode): number {
    const loads = compareLoads(
      { load: this.load(a.id), weight: a.weight },
      { load: this.load(b.id), weight: b.weight },
    );
    const older = (queues.oldest.get(a.id) ?? 0) - (queues.oldest.get(b.id) ?? 0);
    return loads || older || compareText(a.name, b.name);
  }
}

/** Per leaf its requests in order; and per budget the submission of the oldest one that is pending below it. */
interface LeafQueues {
  readonly ofLeaf: Map<string, { readonly requests: readonly FairShareRequest[]; next: number }>;
  readonly oldest: Map<string, number>;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byPriority = (a: FairShareRequest, b: FairShareRequest): number =>
  b.priority - a.priority || a.submittedMs - b.submittedMs || compareText(a.id, b.id);

function leafQueues(tree: BudgetTree, requests: readonly FairShareRequest[]): LeafQueues {
  const queues: LeafQueues = { ofLeaf: new Map(), oldest: new Map() };
  for (const { id } of leavesOf(tree)) {
    const own = requests.filter(({ budgetId }) => budgetId === id).sort(byPriority);
    if (own.length > 0) queues.ofLeaf.set(id, { requests: own, next: 0 });
  }
  for (const id of queues.ofLeaf.keys()) refreshOldest(queues, tree, id);
  return queues;
}

function take(queues: LeafQueues, tree: BudgetTree, leafId: string): FairShareRequest | null {
  const leaf = queues.ofLeaf.get(leafId);
  const request = leaf?.requests[leaf.next];
  if (leaf === undefined || request === undefined) return null;
  leaf.next += 1;
  refreshOldest(queues, tree, leafId);
  return request;
}

/** From the leaf up: the oldest of what is left there, and of the children's. */
function refreshOldest({ ofLeaf, oldest }: LeafQueues, tree: BudgetTree, leafId: string): void {
  for (const { id } of pathTo(tree, leafId).toReversed()) {
    const leaf = ofLeaf.get(id);
    const below = (tree.childrenOf.get(id) ?? []).map((child) => oldest.get(child.id));
    const own = leaf?.requests.slice(leaf.next).map(({ submittedMs }) => submittedMs) ?? [];
    const moments = [...below, ...own].filter((moment): moment is number => moment !== undefined);
    if (moments.length === 0) oldest.delete(id);
    else
      oldest.set(
        id,
        moments.reduce((least, moment) => Math.min(least, moment)),
      );
  }
}
