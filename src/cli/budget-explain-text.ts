import type { BudgetExplanation } from '../contract/index.js';
import { formatAge, formatUntil } from './format-amounts.js';
import { gpuHours, gpus } from './gpu-time-text.js';
import { renderTable } from './table.js';

type Sibling = BudgetExplanation['forks'][number]['siblings'][number];

/** Why a session stands where it stands, for people: the sentence, the comparison at each fork, who is ahead, the hours behind it. */
export function budgetExplainText(explanation: BudgetExplanation, now: Date): string {
  const { budget, allocated, message, forks, ahead, charges, protectedUntil } = explanation;
  const whose = allocated ? `charged to ${budget}` : `unallocated${budget === null ? '' : `, named to ${budget}`}`;
  const isProtected = protectedUntil !== null && Date.parse(protectedUntil) > now.getTime();
  return [
    message,
    `  ${whose}${isProtected ? `; protected until ${protectedUntil} (${formatUntil(protectedUntil, now)})` : ''}`,
    `  may be stopped by: ${explanation.mayBeStoppedBy}`,
    ...forks.flatMap(({ below, siblings }) => [`  below ${below}, in GPU-hours:`, indent(forkTable(siblings, now))]),
    ...(ahead.length === 0 ? [] : ['  ahead of it:', ...ahead.map(({ name, because }) => `    ${name}: ${because}`)]),
    ...(charges.length === 0
      ? []
      : ['  charged in the window:', ...charges.map((charge) => `    ${chargeText(charge, now)}`)]),
  ].join('\n');
}

/** The one that goes first stands first; `>` is the session's own branch. */
const forkTable = (siblings: readonly Sibling[], now: Date): string =>
  renderTable(
    siblings,
    [
      { head: 'BUDGET', of: ({ budget, isOnPath }) => `${isOnPath ? '>' : ' '} ${budget}` },
      { head: 'WEIGHT', of: ({ weight }) => String(weight) },
      { head: 'USED', of: ({ usedGpuSeconds }) => gpuHours(usedGpuSeconds) },
      { head: 'COMMITTED', of: ({ committedGpuSeconds }) => gpuHours(committedGpuSeconds) },
      { head: 'LOAD/WEIGHT', of: ({ loadPerWeight }) => (loadPerWeight === null ? 'last' : compared(loadPerWeight)) },
      { head: 'WAITING', of: ({ pendingSessions }) => String(pendingSessions) },
    ],
    { isWide: false, now },
  );

/** Three digits that count, where two decimals would make all alike: `0.0056`. */
const compared = (gpuSeconds: number): string => {
  const hours = gpuSeconds / 3600;
  return hours < 1 ? String(Number(hours.toPrecision(3))) : gpuHours(gpuSeconds);
};

const indent = (text: string): string => text.replace(/^/gm, '    ');

function chargeText(
  { name, user, budget, gpus: count, from, until, gpuSeconds }: BudgetExplanation['charges'][number],
  now: Date,
): string {
  const span =
    until === null ? `since ${formatAge(from, now)}` : `from ${formatAge(from, now)} to ${formatAge(until, now)} ago`;
  return `${name} of ${user} in ${budget}: ${gpuHours(gpuSeconds)} GPU-h (${gpus(count)} GPUs ${span})`;
}
