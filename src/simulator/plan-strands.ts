import type { Plan } from '../contract/plan.js';
import type { SnapshotPending } from '../contract/snapshot.js';
import { considerPage, settlePass, startPass } from '../scheduler/plan-pass.js';
import type { Decisions, Moment } from './plan-queue.js';

/**
 * Under fair share with budgets: the decisions of a pass that is shown the whole queue, by passes that are shown a part of it.
 * Those who ask alike of one budget stand in one strand. Who comes after one that found no room finds none either, and is
 * nobody's hindrance, until somebody of their budget is chosen: so the first of each strand is shown, and the next behind
 * each one that was chosen. The pass is pure: it is made again with more of them until that holds.
 */
export function planStrands(moment: Moment): Decisions {
  const queue = moment.queue.slice(0, moment.queue.size);
  const strands = strandsOf(queue);
  const shown = new Set<SnapshotPending>();
  const holders = moment.holders();
  for (const { members } of strands.values()) shown.add(members[0]?.session as SnapshotPending);
  for (const session of queue) if (holders.has(session.id)) shown.add(session);
  for (;;) {
    const pass = startPass(moment.base(true), moment.now);
    considerPage(pass, shown.size === queue.length ? queue : queue.filter((session) => shown.has(session)));
    considerPage(pass, []);
    const plan = settlePass(pass);
    const missing = shown.size === queue.length ? [] : missingOf(plan, { strands, shown, queue });
    if (missing.length === 0) return { ...plan, isPass: true };
    for (const session of missing) shown.add(session);
  }
}

interface Member {
  readonly session: SnapshotPending;
  /** In the queue, which is the order of a budget's allocated work. */
  readonly place: number;
}

interface Strand {
  /** The budget; null: unallocated work, whom no choice makes more welcome. */
  readonly leaf: string | null;
  readonly members: Member[];
}

const KEYS = new WeakMap<SnapshotPending, string>();

function strandsOf(queue: readonly SnapshotPending[]): ReadonlyMap<string, Strand> {
  const strands = new Map<string, Strand>();
  for (const [place, session] of queue.entries()) {
    const key = keyOf(session);
    const known = strands.get(key);
    if (known !== undefined) known.members.push({ session, place });
    else
      strands.set(key, {
        leaf: session.minRuntimeSeconds > 0 ? session.budgetId : null,
        members: [{ session, place }],
      });
  }
  return strands;
}

/** Equal for sessions that a pass tells apart by their place only. */
function keyOf(session: SnapshotPending): string {
  const known = KEYS.get(session);
  if (known !== undefined) return known;
  const { budgetId, projectId, priority, preemptible } = session;
  const sizes = session.kernels.map(({ slots }) => slots.gpuCount).join('+');
  const times = `${session.minRuntimeSeconds}/${session.maxRuntimeSeconds}/${session.gracePeriodSeconds}`;
  const key = `${budgetId ?? projectId};${priority};${sizes};${times};${preemptible}`;
  KEYS.set(session, key);
  return key;
}

interface Shown {
  readonly strands: ReadonlyMap<string, Strand>;
  readonly shown: ReadonlySet<SnapshotPending>;
  readonly queue: readonly SnapshotPending[];
}

/** For lack of room: nobody alike finds any later in the pass. */
const FULL: ReadonlySet<string> = new Set(['insufficient_capacity', 'fragmented', 'delays_reservation']);

/** Who has to be shown too, since the pass does not say of all that were left out that they wait. */
function missingOf(plan: Plan, { strands, shown, queue }: Shown): readonly SnapshotPending[] {
  // Room that was given up under way may be had by anybody.
  if (plan.droppedHolds.length > 0) return queue.filter((session) => !shown.has(session));
  const waits = new Map<string, string>(plan.waiting.map(({ sessionId, reason }) => [sessionId, reason]));
  const chosen = new Set<string>([
    ...plan.placed.map(({ sessionId }) => sessionId),
    ...plan.holds.map(({ sessionId }) => sessionId),
    ...plan.reservations.map(({ sessionId }) => sessionId),
  ]);
  const choices = choicesByLeaf(queue, chosen);
  return [...strands.values()].flatMap((strand) => missingIn(strand, { waits, chosen, choices, shown }));
}

interface Verdicts {
  readonly waits: ReadonlyMap<string, string>;
  readonly chosen: ReadonlySet<string>;
  /** Places of those that were chosen, ascending, by budget. */
  readonly choices: ReadonlyMap<string, readonly number[]>;
  readonly shown: ReadonlySet<SnapshotPending>;
}

function missingIn({ leaf, members }: Strand, { waits, chosen, choices, shown }: Verdicts): SnapshotPending[] {
  const places = leaf === null ? [] : (choices.get(leaf) ?? []);
  const missing: SnapshotPending[] = [];
  /** The place up to which it is known that nobody of the strand finds room. */
  let coveredTo = -1;
  for (const { session, place } of members) {
    if (!shown.has(session)) {
      if (place <= coveredTo) continue;
      missing.push(session);
      coveredTo = nextAfter(places, place);
    } else if (chosen.has(session.id)) coveredTo = -1;
    else if (FULL.has(waits.get(session.id) ?? '')) coveredTo = nextAfter(places, place);
    else coveredTo = -1;
  }
  return missing;
}

/** The place of the first choice behind it; Infinity when there is none. */
const nextAfter = (places: readonly number[], place: number): number =>
  places.find((other) => other > place) ?? Number.POSITIVE_INFINITY;

function choicesByLeaf(
  queue: readonly SnapshotPending[],
  chosen: ReadonlySet<string>,
): ReadonlyMap<string, readonly number[]> {
  const choices = new Map<string, number[]>();
  for (const [place, { id, budgetId }] of queue.entries()) {
    if (budgetId === null || !chosen.has(id)) continue;
    const known = choices.get(budgetId);
    if (known === undefined) choices.set(budgetId, [place]);
    else known.push(place);
  }
  return choices;
}
