import {
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { PoolTurn } from '../activities/control/model-activities.js';
import { DEFAULT_DURATIONS, type Durations, WAKE_FLOOR_MS } from '../src/lifecycle/durations.js';
import { control } from './activity-table.js';
import { kickSignal } from './messages.js';
import { divideMember } from './pool-limits.js';

export interface PoolInput {
  readonly pool: string;
  /** A kick that came during the last turn of the run before. */
  readonly kicked: boolean;
  readonly durations?: Durations;
}

/**
 * Plans for one pool whenever the ledger may have changed: after a kick, at the next moment that the last plan named, and at
 * least at each net. A turn's limits are carried out before the next turn begins, so limits of a GPU never race; members are
 * divided side by side. It ends when the pool was removed and its last member has gone.
 */
export async function poolWorkflow({
  pool,
  kicked: before,
  durations = DEFAULT_DURATIONS,
}: PoolInput): Promise<string> {
  let kicked = before;
  setHandler(kickSignal, () => {
    kicked = true;
  });
  let waitMs = 0; // a new run looks at once
  for (let unmet = 0; ; ) {
    if (waitMs > 0 && !kicked) await condition(() => kicked, waitMs, { summary: 'next turn at the latest' });
    kicked = false;
    const turn = await control.poolTurn(pool);
    setCurrentDetails(turn.details);
    if (turn.outcome === 'ended' && !kicked) return `${pool} has ended`;
    const again = await carryOut(pool, turn);
    unmet = again ? unmet + 1 : 0;
    waitMs = untilNext(turn, { unmet, durations });
    if (workflowInfo().continueAsNewSuggested) await continueAsNew<typeof poolWorkflow>({ pool, kicked, durations });
  }
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, poolWorkflow);

/** True when what was planned is not in force everywhere. */
async function carryOut(pool: string, turn: PoolTurn): Promise<boolean> {
  const [unmet, members] = await Promise.all([
    Promise.all(turn.limits.map((member) => divideMember({ pool, turn: turn.turn }, member))),
    turn.membersDue ? control.memberWork(pool) : { more: false },
  ]);
  return unmet.some(Boolean) || members.more || turn.more;
}

/** Limits that are not in force are tried again after 1, 2, 4 … s: an engine comes down to a lower one as requests end. */
function untilNext(
  { isAtRest, nextLookMs, outcome }: PoolTurn,
  { unmet, durations }: { readonly unmet: number; readonly durations: Durations },
): number {
  const net = isAtRest && outcome === 'planned' ? durations.poolRestMs : durations.poolNetMs;
  const again = unmet > 0 || outcome !== 'planned' ? WAKE_FLOOR_MS * 2 ** Math.min(Math.max(unmet - 1, 0), 4) : net;
  return Math.max(Math.min(net, again, nextLookMs ?? net), WAKE_FLOOR_MS);
}
