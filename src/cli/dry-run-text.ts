import type { DryRun } from '../sdk/index.js';
import { formatAmount, formatUntil, resourceName } from './format-amounts.js';
import { unknownText } from './start-text.js';

/** What a session would get, for people: the outcome first, then where, when, and what it leaves of the quota. */
export function dryRunText(answer: DryRun, now: Date): string {
  return [
    `${answer.outcome}${answer.reason === null ? '' : ` · ${answer.reason}`}: ${answer.message}`,
    ...answer.kernels.map(({ role, node, devices }) => `  ${role} on ${node} ${devices.join(', ')}`.trimEnd()),
    ...queueLines(answer),
    ...startLines(answer, now),
    ...stopLines(answer),
    ...(answer.contract === null ? [] : [`  ${answer.contract.message}`]),
    ...answer.quotaAfter.map(quotaLine),
  ].join('\n');
}

const queueLines = ({ outcome, position }: DryRun): readonly string[] =>
  outcome === 'waits' && position !== null ? [`  place in the queue: ${position}`] : [];

function startLines({ outcome, estimatedStart, estimateBasis }: DryRun, now: Date): readonly string[] {
  if (outcome === 'refused') return [];
  if (estimatedStart === null) return [`  start ${unknownText(estimateBasis)}`];
  const basis = estimateBasis === '' ? '' : ` (${estimateBasis})`;
  const when = outcome === 'placed' ? 'now' : `by ${estimatedStart}, ${formatUntil(estimatedStart, now)}`;
  return [`  starts ${when}${basis}`];
}

const stopLines = ({ wouldStop }: DryRun): readonly string[] =>
  wouldStop.length === 0 ? [] : [`  would stop ${wouldStop.length}: ${wouldStop.join(', ')}`];

const quotaLine = ({ scope, name, slot, held, limit }: DryRun['quotaAfter'][number]): string =>
  `  quota of ${scope} ${name}: ${formatAmount(slot, held)} of ${formatAmount(slot, limit)} ${resourceName(slot)} after it`;
