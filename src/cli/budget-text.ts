import type { Budget } from '../contract/index.js';
import { formatSeconds } from './format-amounts.js';
import { gpuHours, gpus, percent, ratioText } from './gpu-time-text.js';

/** A budget for people: who may charge and who may change it, then its figures in GPU-hours. */
export function budgetText(budget: Budget): string {
  const { path, id, state, parent, domain, weight, projects, managers, minRuntimeCapSeconds: cap, use } = budget;
  const window = formatSeconds(use.windowSeconds);
  const rows: readonly (readonly [string, string])[] = [
    ['below', parent === null ? 'nothing: it is the root' : `${parent}, with weight ${weight}`],
    ['domain', domain ?? 'none'],
    ['charged by', budget.isLeaf ? projects.join(', ') || 'nobody: no project may charge it' : 'nobody: it is no leaf'],
    ['managers', managers.join(', ') || 'none of its own'],
    ['minimum runtime', cap === null ? 'as long as its allocated time bears' : `at most ${formatSeconds(cap)}`],
    ['claim', percent(use.claim)],
    ['allocated', `${gpuHours(use.allocatedGpuSeconds)} GPU-h in ${window}`],
    ['used', `${gpuHours(use.usedGpuSeconds)} GPU-h (ratio ${ratioText(use.ratio)})`],
    ['committed', `${gpuHours(use.committedGpuSeconds)} GPU-h (expected ratio ${ratioText(use.expectedRatio)})`],
    ['unallocated', `${gpuHours(use.unallocatedGpuSeconds)} GPU-h, charged to nothing`],
    ['GPUs', `${gpus(use.runningGpus)} running, ${gpus(use.pendingGpus)} waiting`],
  ];
  return [
    `budget ${path} (${id})${state === 'closed' ? ': closed' : ''}`,
    ...rows.map(([head, text]) => `  ${head.padEnd(17)}${text}`),
  ].join('\n');
}
