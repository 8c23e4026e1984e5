import { type BudgetNode, type BudgetTree, isLeaf, pathTo } from './budget-tree.js';
import { sumsOver } from './claims.js';
import { compareLoads, type GpuTime } from './gpu-time.js';

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
export class FairShareQueue {
  readonly #tree: BudgetTree;
  readonly #loads: Map<string, GpuTime>;
  readonly #classes: readonly LeafQueues[];
  readonly #unallocated: readonly FairShareRequest[];
  #nextUnallocated = 0;

  constructor(state: FairShareState, pending: readonly FairShareRequest[]) {
    this.#tree = state.tree;
    this.#loads = sumsOver(state.tree, state.loads);
    const mayBeCharged = (request: FairShareRequest): boolean =>
      isAllocated(request) && state.tree.byId.has(request.budgetId ?? '') && isLeaf(state.tree, request.budgetId ?? '');
    const allocated = pending.filter(mayBeCharged);
    const claims = (request: FairShareRequest): boolean => (state.claims.get(request.budgetId ?? '') ?? 0) > 0;
    this.#classes = [allocated.filter(claims), allocated.filter((request) => !claims(request))].map((requests) =>
      leafQueues(state.tree, requests),
    );
    const use = (request: FairShareRequest): GpuTime =>
      state.unallocatedUse.get(request.budgetId ?? request.projectId) ?? 0;
    this.#unallocated = pending
      .filter((request) => !mayBeCharged(request))
      .sort((a, b) => use(a) - use(b) || a.submittedMs - b.submittedMs || compareText(a.id, b.id));
  }

  /** The next one, taken out of the queue; null at the end. Say what became of it before asking again. */
  next(): FairShareRequest | null {
    for (const queues of this.#classes) {
      const leaf = this.#leastLoaded(queues);
      if (leaf !== undefined) return take(queues, this.#tree, leaf);
    }
    const request = this.#unallocated[this.#nextUnallocated] ?? null;
    this.#nextUnallocated += 1;
    return request;
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

interface LeafQueue {
  readonly requests: readonly FairShareRequest[];
  /** For each place, the oldest submission from there to the end. */
  readonly oldestFrom: Float64Array;
  next: number;
}

/** Per leaf its requests in order; and per budget the submission of the oldest one that is pending below it. */
interface LeafQueues {
  readonly ofLeaf: Map<string, LeafQueue>;
  readonly oldest: Map<string, number>;
}

const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const byPriority = (a: FairShareRequest, b: FairShareRequest): number =>
  b.priority - a.priority || a.submittedMs - b.submittedMs || compareText(a.id, b.id);

function leafQueues(tree: BudgetTree, requests: readonly FairShareRequest[]): LeafQueues {
  const queues: LeafQueues = { ofLeaf: new Map(), oldest: new Map() };
  const byLeaf = new Map<string, FairShareRequest[]>();
  for (const request of requests) {
    const leaf = request.budgetId ?? '';
    const known = byLeaf.get(leaf);
    if (known === undefined) byLeaf.set(leaf, [request]);
    else known.push(request);
  }
  for (const [id, own] of byLeaf) queues.ofLeaf.set(id, leafQueue(own));
  for (const id of queues.ofLeaf.keys()) refreshOldest(queues, tree, id);
  return queues;
}

function leafQueue(own: FairShareRequest[]): LeafQueue {
  const requests = own.sort(byPriority);
  const oldestFrom = new Float64Array(requests.length + 1).fill(Number.POSITIVE_INFINITY);
  for (let i = requests.length - 1; i >= 0; i -= 1) {
    const { submittedMs } = requests[i] as FairShareRequest;
    oldestFrom[i] = Math.min(submittedMs, oldestFrom[i + 1] as number);
  }
  return { requests, oldestFrom, next: 0 };
}

function take(queues: LeafQueues, tree: BudgetTree, leafId: string): FairShareRequest | null {
  const leaf = queues.ofLeaf.get(leafId);
  const request = leaf?.requests[leaf.next];
  if (leaf === undefined || request === undefined) return null;
  leaf.next += 1;
  refreshOldest(queues, tree, leafId);
  return request;
}

/** From the leaf up: the oldest of what is left there, and of the children's; as far up as it changes. */
function refreshOldest({ ofLeaf, oldest }: LeafQueues, tree: BudgetTree, leafId: string): void {
  const path = pathTo(tree, leafId);
  for (let depth = path.length - 1; depth >= 0; depth -= 1) {
    const { id } = path[depth] as BudgetNode;
    const leaf = ofLeaf.get(id);
    let least = leaf?.oldestFrom[leaf.next] ?? Number.POSITIVE_INFINITY;
    for (const child of tree.childrenOf.get(id) ?? [])
      least = Math.min(least, oldest.get(child.id) ?? Number.POSITIVE_INFINITY);
    if (least === (oldest.get(id) ?? Number.POSITIVE_INFINITY)) return;
    if (least === Number.POSITIVE_INFINITY) oldest.delete(id);
    else oldest.set(id, least);
  }
}
