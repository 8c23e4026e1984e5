import type { Why } from '../contract/index.js';
import { formatAge } from './format-amounts.js';

/** `why` for people: the one reason first, then what stands in the way, then what to do. */
export function whyText(why: Why, now: Date): string {
  const lines = [
    `${why.state} for ${formatAge(why.since, now)}${why.reason === null ? '' : `: ${why.reason}`}`,
    `  ${why.message}`,
    ...why.blockers.map((blocker) => `  ${blockerText(blocker)}`),
    ...queueLines(why),
    ...nodeLines(why),
    ...startLines(why),
    ...why.actions.map(({ title, command }) => `  try: ${title}: ${command}`),
  ];
  return lines.join('\n');
}

function blockerText({ kind, scope, name, resource, need, used, limit }: Why['blockers'][number]): string {
  const amounts = resource === null ? '' : `: ${resource} needs ${need ?? '?'}, ${used ?? '?'} of ${limit ?? '?'} used`;
  return `${kind} of ${scope} ${name}${amounts}`;
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
