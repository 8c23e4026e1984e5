import type { BudgetNode } from '../budgets/budget-tree.js';
import { sumsOver } from '../budgets/claims.js';
import type { FairShare } from './fair-share.js';
import { isAllocated } from './under-budgets.js';

/** A window is looked at so often at most: what leaves it at its far end moves the crossing, and is not foreseen. */
const LOOKS_A_WINDOW = 2000;
const SOONEST_MS = 1_000;
const LATEST_MS = 300_000;

/**
 * In how many ms use alone may make work that is past its minimum more over-served than somebody who waits; null: it does
 * not. No event comes for it. Only work past its minimum raises a load as time goes on: what is protected was counted whole.
 */
export function loadsCrossInMs(fair: FairShare): number | null {
  const asking = new Set<string>();
  for (const { session } of fair.unplaced) {
    if (session.budgetId === null || !isAllocated(session)) continue;
    for (const { id } of fair.tree.pathOf.get(session.budgetId) ?? []) asking.add(id);
  }
  const rates = sumsOver(fair.tree, fair.growth);
  let soonest: number | null = null;
  for (const siblings of fair.tree.childrenOf.values()) {
    const askers = siblings.filter(({ id }) => asking.has(id));
    for (const over of siblings.filter(({ id }) => fair.withVictims.now.has(id)))
      for (const own of askers) soonest = least(soonest, crossing(fair, rates, { over, own }));
  }
  if (soonest === null) return null;
  const often = Math.min(LATEST_MS, Math.max(SOONEST_MS, (fair.budgets.windowSeconds * 1000) / LOOKS_A_WINDOW));
  return Math.ceil(Math.max(soonest, often));
}

const least = (a: number | null, b: number | null): number | null => (a === null ? b : b === null ? a : Math.min(a, b));

/** Loads per weight as two lines over time; null: the one that is not above the other now never gets there. */
function crossing(
  { queue }: FairShare,
  rates: ReadonlyMap<string, number>,
  { over, own }: { readonly over: BudgetNode; readonly own: BudgetNode },
): number | null {
  if (over.id === own.id || over.weight === 0 || own.weight === 0) return null;
  const gap = queue.load(own.id) * over.weight - queue.load(over.id) * own.weight;
  const slope = (rates.get(over.id) ?? 0) * own.weight - (rates.get(own.id) ?? 0) * over.weight;
  return gap < 0 || slope <= 0 ? null : gap / slope + 1;
}
