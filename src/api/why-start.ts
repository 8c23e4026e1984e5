import type { Session, Why } from '../contract/index.js';
import { forecast } from '../scheduler/forecast.js';
import type { ApiDeps } from './deps.js';

/** `unknown, because nobody …` without its beginning: the field's name says it. */
const because = (basis: string): string => basis.replace(/^unknown(, because|:)? */, '');

/** In line, or held until a moment that is known: a start can be worked out. */
const hasStart = ({ class: kind, reason }: Why): boolean =>
  kind === 'wait' || kind === 'retrying' || reason === 'scheduled_start';

/**
 * The start that the last pass worked out, else one that is worked out now, from a snapshot. It reads the group's whole queue:
 * only for the one who asks.
 */
export async function withStart({ store }: Pick<ApiDeps, 'store'>, why: Why, session: Session): Promise<Why> {
  if (why.eta !== null || why.state !== 'PENDING') return why;
  const told = why.etaUnknownBecause === null ? null : because(why.etaUnknownBecause);
  const snapshot = hasStart(why) ? await store.planning.snapshot(session.group) : null;
  const start = snapshot === null ? null : forecast(snapshot, session.id, snapshot.takenAt);
  if (start === null) return { ...why, etaUnknownBecause: told };
  const { at, basis } = start;
  return at === null
    ? { ...why, etaUnknownBecause: because(basis) }
    : { ...why, eta: { p50: at, p90: at, basis }, etaUnknownBecause: null };
}
