import type { Why } from '../contract/index.js';
import { formatAge, formatAmount, formatUntil, resourceName } from './format-amounts.js';
import { idleLines } from './idle-lines.js';

/** Told at most of its history; berth history tells all of it. */
const HISTORY_MAX = 5;

/**
 * `why` for people: the one reason first, then what stands in the way, where it nearly fits, when it starts and on what
 * basis, what helps, and what was before.
 */
export function whyText(why: Why, now: Date): string {
  const lines = [
    headline(why, now),
    `  ${why.message}`,
    ...why.blockers.map((blocker) => `  ${blockerText(blocker)}`),
    ...queueLines(why),
    ...nodeLines(why),
    ...nearestLines(why),
    ...startLines(why, now),
    ...idleLines(why.idle, now),
    ...why.actions.map(({ title, command }) => `  try: ${title}: ${command}`),
    ...historyLines(why, now),
  ];
  return lines.join('\n');
}

const CLASS_TEXT: Readonly<Partial<Record<Why['class'], string>>> = {
  never: 'it can never start as it was asked',
  hold: 'held, not in line',
  retrying: 'it is tried again',
};

function headline({ state, since, reason, class: kind }: Why, now: Date): string {
  const age = formatAge(since, now);
  if (state === 'TERMINATED' || state === 'CANCELLED' || state === 'ERROR') return `${state} ${age} ago`;
  const told = CLASS_TEXT[kind];
  return `${state} for ${age}${reason === null ? '' : `: ${reason}`}${told === undefined ? '' : ` (${told})`}`;
}

function blockerText({ kind, scope, name, resource, need, used, limit }: Why['blockers'][number]): string {
  const subject = kind === scope ? `${kind} ${name}` : `${kind} of ${scope} ${name}`;
  if (resource === null) return subject;
  const [needs, holds, most] = [need, used, limit].map((amount) => formatAmount(resource, amount));
  return `${subject}: needs ${needs} ${resourceName(resource)}, ${holds} of ${most} used`;
}

function queueLines({ queue }: Why): readonly string[] {
  if (queue === null) return [];
  const ahead =
    queue.gpusAhead > 0 ? `, ${queue.gpusAhead} ${queue.gpusAhead === 1 ? 'GPU' : 'GPUs'} asked for ahead` : '';
  return [`  queue ${queue.name}: place ${queue.position}${ahead}`];
}

function nodeLines({ nodes }: Why): readonly string[] {
  if (nodes === null) return [];
  const rejected = Object.entries(nodes.rejected)
    .toSorted(([, a], [, b]) => b - a)
    .map(([why, count]) => `${count} ${why}`);
  return [`  nodes: ${nodes.fit} would take it${rejected.length > 0 ? `, ${rejected.join(', ')}` : ''}`];
}

function nearestLines({ nearest }: Why): readonly string[] {
  if (nearest === null) return [];
  const lacks = nearest.lacks.map(
    ({ slot, need, free }) =>
      `needs ${formatAmount(slot, need)} ${resourceName(slot)}, ${formatAmount(slot, free)} free`,
  );
  return [`  nearest fit: ${nearest.node}${lacks.length === 0 ? '' : `: ${lacks.join('; ')}`}`];
}

function startLines({ eta, etaUnknownBecause, reservedNodes }: Why, now: Date): readonly string[] {
  const reserved = reservedNodes.length === 0 ? '' : `, on ${reservedNodes.join(', ')}, reserved for it`;
  if (eta === null) return etaUnknownBecause === null ? [] : [`  start unknown, because ${etaUnknownBecause}`];
  return [`  starts by ${eta.p90} (${formatUntil(eta.p90, now)})${reserved}: ${eta.basis}`];
}

/** The last changes, the present one first. */
function historyLines({ history }: Why, now: Date): readonly string[] {
  if (history.length < 2) return [];
  const last = history.slice(-HISTORY_MAX).toReversed();
  return ['  before:', ...last.map(({ at, reason }) => `    ${formatAge(at, now)} ago  ${reason}`)];
}
