import { type BudgetTree, isLeaf } from './budget-tree.js';
import type { GpuTime } from './gpu-time.js';
import { SiblingHeaps } from './sibling-heaps.js';
import { sumsByNumber, type TreeIndex, treeIndex } from './tree-index.js';

/** A session that waits, as the order sees it. */
export interface FairShareRequest {
  readonly id: string;
  /** A leaf of the tree; null, or anything else: it is charged to nothing. */
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
export class FairShareQueue<Request extends FairShareRequest = FairShareRequest> {
  readonly #index: TreeIndex;
  /** By number of the budget. */
  readonly #loads: Float64Array;
  readonly #classes: readonly PendingLeaves<Request>[];
  readonly #unallocated: readonly Request[];
  #nextUnallocated = 0;

  constructor(state: FairShareState, pending: readonly Request[]) {
    const { tree, claims } = state;
    this.#index = treeIndex(tree);
    this.#loads = sumsByNumber(this.#index, state.loads);
    const claiming: Request[] = [];
    const without: Request[] = [];
    const unallocated: Request[] = [];
    for (const request of pending) {
      const leaf = request.budgetId ?? '';
      const isCharged = isAllocated(request) && tree.byId.has(leaf) && isLeaf(tree, leaf);
      if (!isCharged) unallocated.push(request);
      else if ((claims.get(leaf) ?? 0) > 0) claiming.push(request);
      else without.push(request);
    }
    this.#classes = [claiming, without].map((requests) => this.#pendingLeaves(requests));
    const use = (request: FairShareRequest): GpuTime =>
      state.unallocatedUse.get(request.budgetId ?? request.projectId) ?? 0;
    this.#unallocated = unallocated.sort(
      (a, b) => use(a) - use(b) || a.submittedMs - b.submittedMs || compareText(a.id, b.id),
    );
  }

  /** The next one, taken out of the queue; null at the end. Say what became of it before asking again. */
  next(): Request | null {
    for (const { ofLeaf, heaps } of this.#classes) {
      const leaf = heaps.first();
      const queue = ofLeaf.get(leaf);
      if (queue === undefined) continue;
      const request = queue.requests[queue.next] as Request;
      queue.next += 1;
      heaps.setOldest(leaf, queue.oldestFrom[queue.next] as number);
      return request;
    }
    const request = this.#unallocated[this.#nextUnallocated] ?? null;
    this.#nextUnallocated += 1;
    return request;
  }

  settle(request: FairShareRequest, verdict: Verdict): void {
    if (verdict === 'passed' || !isAllocated(request)) return;
    const time = request.milliGpus * request.minRuntimeMs;
    const { numberOf, parent } = this.#index;
    for (let i = numberOf.get(request.budgetId ?? '') ?? -1; i >= 0; i = parent[i] as number) {
      this.#loads[i] = (this.#loads[i] as number) + time;
      for (const { heaps } of this.#classes) heaps.sink(i);
    }
  }

  /** Use plus committed time plus this pass's choices, of any budget. */
  load(budgetId: string): GpuTime {
    const i = this.#index.numberOf.get(budgetId);
    return i === undefined ? 0 : (this.#loads[i] as number);
  }

  #pendingLeaves(requests: readonly Request[]): PendingLeaves<Request> {
    const byLeaf = new Map<number, Request[]>();
    for (const request of requests) {
      const leaf = this.#index.numberOf.get(request.budgetId ?? '') as number;
      const known = byLeaf.get(leaf);
      if (known === undefined) byLeaf.set(leaf, [request]);
      else known.push(request);
    }
    const ofLeaf = new Map([...byLeaf].map(([leaf, own]) => [leaf, leafQueue(own)]));
    const oldest = new Float64Array(this.#loads.length).fill(Number.POSITIVE_INFINITY);
    for (const [leaf, { oldestFrom }] of ofLeaf) oldest[leaf] = oldestFrom[0] as number;
    return { ofLeaf, heaps: new SiblingHeaps(this.#index, this.#loads, oldest) };
  }
}

/** Allocated requests by the number of their leaf, and which leaf is next. */
interface PendingLeaves<Request> {
  readonly ofLeaf: ReadonlyMap<number, LeafQueue<Request>>;
  readonly heaps: SiblingHeaps;
}

interface LeafQueue<Request> {
  readonly requests: readonly Request[];
  /** For each place, the oldest submission from there to the end. */
  readonly oldestFrom: Float64Array;
  next: number;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byPriority = (a: FairShareRequest, b: FairShareRequest): number =>
  b.priority - a.priority || a.submittedMs - b.submittedMs || compareText(a.id, b.id);

function leafQueue<Request extends FairShareRequest>(own: Request[]): LeafQueue<Request> {
  const requests = own.sort(byPriority);
  const oldestFrom = new Float64Array(requests.length + 1).fill(Number.POSITIVE_INFINITY);
  for (let i = requests.length - 1; i >= 0; i -= 1) {
    const { submittedMs } = requests[i] as Request;
    oldestFrom[i] = Math.min(submittedMs, oldestFrom[i + 1] as number);
  }
  return { requests, oldestFrom, next: 0 };
}
