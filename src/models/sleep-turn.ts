import { seconds } from './amounts.js';
import { sleepAfterMs, whyNeverAsleepNow } from './sleepers.js';
import { look, orderSleep, type Turn } from './turn.js';

/** Sleeps by hand, and by idleness; never one that serves, or for whose weights the host has no memory. */
export function sleepTurn(turn: Turn): void {
  const { state } = turn;
  const { policy } = state.snapshot;
  for (const engine of state.engines) {
    const { claim, row, phase } = engine;
    if (phase !== 'ACTIVE' || row === null) continue;
    const afterMs = claim.neverSleeps ? null : sleepAfterMs(claim, policy);
    if (!claim.sleepAsked && afterMs === null) continue;
    const dueMs = claim.sleepAsked ? state.nowMs : (row.idleSinceMs ?? Number.POSITIVE_INFINITY) + (afterMs ?? 0);
    if (dueMs > state.nowMs) {
      if (Number.isFinite(dueMs)) look(turn, Math.max(dueMs, row.noSleepBeforeMs ?? 0));
      continue;
    }
    const refused = whyNeverAsleepNow(engine, state);
    if (refused !== null) look(turn, refused.untilMs);
    else orderSleep(turn, engine, claim.sleepAsked ? 'by hand' : `idle for ${seconds(afterMs ?? 0)}`);
  }
}
