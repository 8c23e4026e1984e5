import { type BudgetTree, isLeaf, leavesOf } from '../budgets/budget-tree.js';
import { sumsOver } from '../budgets/claims.js';
import { impactOf, type LeafImpact, type Pyramid, pyramid } from '../budgets/pyramid.js';
import type { BudgetPlan } from './budget-plan.js';
import type { JobOutcome, SimulatedJob } from './simulated-job.js';
import { type Window, windowOf } from './summarize.js';
import { type WaitFigures, waitFigures } from './wait-figures.js';

/** One budget while jobs came, with all below it. GPU time in GPU hours × factor. */
export interface BudgetFigures {
  readonly budget: string;
  readonly depth: number;
  readonly isLeaf: boolean;
  readonly claim: number;
  readonly allocatedGpuHours: number;
  /** Charged; where the policy charges nothing, all that its jobs held. */
  readonly usedGpuHours: number;
  /** Held for nothing. */
  readonly unallocatedGpuHours: number;
  /** Of charged work that waited or ran. */
  readonly demandGpuHours: number;
  /** Used / allocated; null where nothing is allocated. */
  readonly ratio: number | null;
  readonly impact: number;
  /** Of the last whole window in which jobs came; null: they came for less. */
  readonly lastWindow: { readonly allocatedGpuHours: number; readonly usedGpuHours: number } | null;
  readonly jobs: number;
  readonly stops: number;
  readonly lostGpuHours: number;
  readonly wait: WaitFigures;
}

export interface BudgetReport {
  readonly windowHours: number;
  readonly pyramid: Pyramid;
  /** Parents before their children. */
  readonly budgets: readonly BudgetFigures[];
}

/** Whether what a job holds is charged to its leaf. */
export type IsCharged = (job: SimulatedJob) => boolean;

const UNITS_A_GPU_HOUR = 3.6e9;

export function budgetReport(outcomes: readonly JobOutcome[], plan: BudgetPlan, isCharged: IsCharged): BudgetReport {
  const coming = windowOf(outcomes);
  const { byLeaf, parked, elsewhere } = sorted(outcomes, plan, coming);
  const last = { fromMs: coming.toMs - plan.windowMs, toMs: coming.toMs };
  const leaves = new Map([...byLeaf].map(([id, own]) => [id, leafParts(own, { coming, last }, isCharged)]));
  const { tree, claims } = plan;
  const sums = (of: (parts: LeafParts) => number): ReadonlyMap<string, number> =>
    sumsOver(tree, new Map([...leaves].map(([id, parts]) => [id, of(parts)])));
  const used = sums(({ use }) => use);
  const unallocated = sums((parts) => parts.unallocated);
  const demand = sums((parts) => parts.demand);
  const inWindow = sums((parts) => parts.lastUse);
  const total = (plan.capacity / plan.windowMs) * (coming.toMs - coming.fromMs);
  const impacts = new Map(
    leavesOf(tree).map(({ id }): [string, LeafImpact] => {
      const allocated = (claims.get(id) ?? 0) * total;
      return [id, { allocated, use: leaves.get(id)?.use ?? 0, demand: leaves.get(id)?.demand ?? 0 }];
    }),
  );
  const hours = (of: ReadonlyMap<string, number>, id: string): number => (of.get(id) ?? 0) / UNITS_A_GPU_HOUR;
  const budgets = tree.nodes.map(({ id }): BudgetFigures => {
    const below = leavesBelow(tree, id);
    const own = below.flatMap((leaf) => byLeaf.get(leaf) ?? []);
    const claim = claims.get(id) ?? 0;
    const allocatedGpuHours = (claim * total) / UNITS_A_GPU_HOUR;
    const usedGpuHours = hours(used, id);
    return {
      budget: plan.paths.get(id) ?? id,
      depth: (tree.pathOf.get(id)?.length ?? 1) - 1,
      isLeaf: isLeaf(tree, id),
      claim,
      allocatedGpuHours,
      usedGpuHours,
      unallocatedGpuHours: hours(unallocated, id),
      demandGpuHours: hours(demand, id),
      ratio: allocatedGpuHours === 0 ? null : usedGpuHours / allocatedGpuHours,
      impact: impactOf(below.flatMap((leaf) => impacts.get(leaf) ?? [])),
      lastWindow:
        last.fromMs < coming.fromMs
          ? null
          : { allocatedGpuHours: (claim * plan.capacity) / UNITS_A_GPU_HOUR, usedGpuHours: hours(inWindow, id) },
      jobs: own.length,
      stops: own.reduce((sum, { stops }) => sum + stops, 0),
      lostGpuHours: own.reduce((sum, { lostGpuMs }) => sum + lostGpuMs, 0) / 3_600_000,
      wait: waitFigures(own),
    };
  });
  const charged = used.get(tree.rootId) ?? 0;
  const assigned = charged + (unallocated.get(tree.rootId) ?? 0) + elsewhere;
  const parts = { total, healthy: total, assigned, used: assigned - parked, allocatedOccupancy: charged };
  return {
    windowHours: plan.windowMs / 3_600_000,
    pyramid: pyramid(parts, [...impacts.values()]),
    budgets,
  };
}

/** Jobs by their leaf, and what those did that count beside it: GPU-time of parked jobs, and of jobs without a leaf. */
function sorted(outcomes: readonly JobOutcome[], plan: BudgetPlan, coming: Window) {
  const byLeaf = new Map<string, JobOutcome[]>();
  let parked = 0;
  let elsewhere = 0;
  for (const outcome of outcomes) {
    const leaf = plan.leafOf(outcome.job);
    if (outcome.job.parked) parked += heldWithin(outcome, coming);
    if (leaf === null) {
      elsewhere += heldWithin(outcome, coming);
      continue;
    }
    const known = byLeaf.get(leaf);
    if (known === undefined) byLeaf.set(leaf, [outcome]);
    else known.push(outcome);
  }
  return { byLeaf, parked, elsewhere };
}

interface LeafParts {
  readonly use: number;
  readonly unallocated: number;
  readonly demand: number;
  readonly lastUse: number;
}

function leafParts(
  outcomes: readonly JobOutcome[],
  { coming, last }: { readonly coming: Window; readonly last: Window },
  isCharged: IsCharged,
): LeafParts {
  let use = 0;
  let unallocated = 0;
  let demand = 0;
  let lastUse = 0;
  for (const outcome of outcomes) {
    const { job, endedMs, held } = outcome;
    if (!isCharged(job)) {
      unallocated += heldWithin(outcome, coming);
      continue;
    }
    use += heldWithin(outcome, coming);
    lastUse += heldWithin(outcome, last);
    const milliGpus = held[0]?.milliGpus ?? job.gpus * 1000;
    demand += milliGpus * overlapMs({ fromMs: job.submittedMs, toMs: endedMs ?? coming.toMs }, coming);
  }
  return { use, unallocated, demand, lastUse };
}

const overlapMs = (span: Window, { fromMs, toMs }: Window): number =>
  Math.max(0, Math.min(span.toMs, toMs) - Math.max(span.fromMs, fromMs));

const heldWithin = ({ held }: JobOutcome, window: Window): number =>
  held.reduce((sum, span) => sum + span.milliGpus * overlapMs(span, window), 0);

function leavesBelow(tree: BudgetTree, id: string): readonly string[] {
  const children = tree.childrenOf.get(id) ?? [];
  return children.length === 0 ? [id] : children.flatMap((child) => leavesBelow(tree, child.id));
}
