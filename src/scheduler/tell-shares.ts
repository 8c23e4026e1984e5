import { type BudgetNode, pathText, pathTo } from '../budgets/budget-tree.js';
import { allocatedTime, sumsOver } from '../budgets/claims.js';
import type { GpuTime } from '../budgets/gpu-time.js';
import type { Waiting } from '../contract/plan.js';
import { rounded } from './budget-rule.js';
import type { FairShare, Unplaced } from './fair-share.js';
import type { Pass } from './pass.js';

const OF_ROOM: ReadonlySet<Waiting['reason']> = new Set(['insufficient_capacity', 'fragmented', 'delays_reservation']);

/** Adds to the message of those without room what their budget has used of its share, and who goes first. */
export function tellShares(pass: Pass, fair: FairShare): void {
  const [first] = fair.unplaced;
  if (first === undefined) return;
  const use = sumsOver(fair.tree, new Map(fair.budgets.leaves.map((leaf) => [leaf.id as string, leaf.use])));
  const told = new Map<string, string>();
  for (const { index, session } of fair.unplaced) {
    const waiting = pass.waiting[index] as Waiting;
    if (!OF_ROOM.has(waiting.reason)) continue;
    const isFirst = session === first.session;
    const leaf = session.budgetId !== null && session.minRuntimeSeconds > 0 ? session.budgetId : '';
    const key = isFirst ? '' : leaf;
    let text = told.get(key);
    if (text === undefined || isFirst) {
      text = shares({ fair, use, first: first.session }, { leaf, isFirst });
      if (!isFirst) told.set(key, text);
    }
    // The entry is this pass's own, and not handed out yet.
    waiting.message = waiting.message === '' ? text : `${waiting.message}; ${text}`;
  }
}

interface Facts {
  readonly fair: FairShare;
  /** What is charged, by budget. */
  readonly use: ReadonlyMap<string, GpuTime>;
  readonly first: Unplaced['session'];
}

function shares(facts: Facts, { leaf, isFirst }: { readonly leaf: string; readonly isFirst: boolean }): string {
  if (leaf === '') return 'it is unallocated: allocated work goes first, and may stop it';
  const { tree } = facts.fair;
  const own = pathTo(tree, leaf).at(-1) as BudgetNode;
  const used = `its budget ${pathText(tree, leaf)} has used ${partText(facts, own)}`;
  if (isFirst) return `${used}; it is the first in order`;
  const firsts = pathTo(tree, facts.first.budgetId ?? '');
  const path = pathTo(tree, leaf);
  const split = firsts.findIndex(({ id }, depth) => id !== path[depth]?.id);
  const ahead = firsts[split];
  if (ahead === undefined) return `${used}; ${facts.first.name} of the same budget goes first`;
  const beside = path[split];
  const branch =
    beside === undefined || beside.id === leaf ? '' : ` (${pathText(tree, beside.id)} ${partText(facts, beside)})`;
  return `${used}${branch}; ${pathText(tree, ahead.id)} goes first (${partText(facts, ahead)})`;
}

/** `1.1 of its share`: of use alone, as `berth budget tree` shows it. */
function partText({ fair: { claims, budgets }, use }: Facts, { id }: BudgetNode): string {
  const allocated = allocatedTime(claims.get(id) ?? 0, budgets.capacity);
  return allocated === 0 ? 'of no share' : `${rounded((use.get(id) ?? 0) / allocated)} of its share`;
}
