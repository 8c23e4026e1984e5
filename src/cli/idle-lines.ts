import type { IdleVerdict } from '../contract/index.js';
import { formatUntil } from './format-amounts.js';

/** How idle a session is, in a few words: `ends in 4m`, `warned, ends in 40s`. */
export function idleShort(idle: IdleVerdict | null | undefined, now: Date): string {
  if (idle === null || idle === undefined) return '-';
  if (idle.reclaimAt === null) return idle.state;
  const warned = idle.state === 'warned' ? 'warned, ' : '';
  return `${warned}ends ${formatUntil(idle.reclaimAt, now)}`;
}

/** Nothing to say of a session that is in use. */
export function idleLines(idle: IdleVerdict | null | undefined, now: Date): readonly string[] {
  if (idle === null || idle === undefined || idle.state === 'active') return [];
  const until = idle.reclaimAt === null ? '' : ` (${idleShort(idle, now)})`;
  return [`  idle: ${idle.message}${until}`];
}
