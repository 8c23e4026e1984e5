import type { Why } from '../contract/index.js';
import { formatAge, formatAmount, resourceName } from './format-amounts.js';

/** `why` for people: the one reason first, then what stands in the way, then what to do. */
export function whyText(why: Why, now: Date): string {
  const lines = [
    headline(why, now),
    `  ${why.message}`,
    ...why.blockers.map((blocker) => `  ${blockerText(blocker)}`),
    ...queueLines(why),
    ...nodeLines(why),
    ...startLines(why),
    ...why.actions.map(({ title, command }) => `  try: ${title}: ${command}`),
  ];
  return lines.join('\n');
}

function headline({ state, since, reason }: Why, now: Date): string {
  const age = formatAge(since, now);
  if (state === 'TERMINATED' || state === 'CANCELLED' || state === 'ERROR') return `${state} ${age} ago`;
  return `${state} for ${age}${reason === null ? '' : `: ${reason}`}`;
}

function blockerText({ kind, scope, name, resource, need, used, limit }: Why['blockers'][number]): string {
  const subject = kind === scope ? `${kind} ${name}` : `${kind} of ${scope} ${name}`;
  if (resource === null) return subject;
  const [needs, holds, most] = [need, used, limit].map((amount) => formatAmount(resource, amount));
  return `${subject}: needs ${needs} ${resourceName(resource)}, ${holds} of ${most} used`;
}

function queueLines({ queue }: Why): readonly string[] {
  if (queue === null) return [];
  const ahead = queue.gpusAhead > 0 ? `, ${queue.gpusAhead} GPUs asked for ahead` : '';
  return [`  queue ${queue.name}: place ${queue.position}${ahead}`];
}

function nodeLines({ nodes }: Why): readonly string[] {
  if (nodes === null) return [];
  const rejected = Object.entries(nodes.rejected).map(([why, count]) => `${count} ${why}`);
  return [`  nodes: ${nodes.fit} would take it${rejected.length > 0 ? `, ${rejected.join(', ')}` : ''}`];
}

function startLines({ eta, etaUnknownBecause }: Why): readonly string[] {
  if (eta !== null) return [`  expected: ${eta.p50} (${eta.basis})`];
  return etaUnknownBecause === null ? [] : [`  start unknown, because ${etaUnknownBecause}`];
}
