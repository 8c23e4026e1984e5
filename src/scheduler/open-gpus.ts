import type { Demand } from './demand.js';
import { deviceViewOf, indexOfNode } from './node-table.js';
import { nodesToTry } from './place.js';
import { leftRanking } from './preempt-offer.js';
import type { Preemption } from './preemption.js';
import type { VictimRule } from './victims.js';

/** By rule, per node the GPUs of those who may be stopped now. */
const KNOWN = new WeakMap<Preemption, Map<string, Float64Array>>();

function openGpus(preemption: Preemption, rule: VictimRule): Float64Array {
  const byRule = KNOWN.get(preemption) ?? new Map<string, Float64Array>();
  KNOWN.set(preemption, byRule);
  const known = byRule.get(rule.key);
  if (known !== undefined) return known;
  const { table } = leftRanking(preemption);
  const gpus = new Float64Array(table.nodes.length);
  for (const candidate of preemption.candidates) {
    const { session, fromMs } = candidate;
    if (fromMs === null || fromMs > preemption.nowMs || !rule.mayStop(candidate)) continue;
    for (const { node, deviceIds } of session.kernels) {
      const i = indexOfNode(table, node);
      if (i >= 0) gpus[i] = (gpus[i] as number) + deviceIds.length;
    }
  }
  byRule.set(rule.key, gpus);
  return gpus;
}

/**
 * Whether the free GPUs and those of all whom the rule lets the request stop could be enough for it: a bound by counting
 * alone, so that most searches in vain are not begun. False is certain.
 */
export function couldHaveGpus(preemption: Preemption, rule: VictimRule, demand: Demand): boolean {
  const { spread, kernels, total } = demand;
  const each = spread ? Math.min(...kernels.map(({ slots }) => slots.gpuCount)) : total.gpuCount;
  if (each === 0) return true;
  const ranking = leftRanking(preemption);
  const { whole } = deviceViewOf(ranking.table, demand.gpuModel);
  const mask = nodesToTry(ranking, demand);
  const gpus = openGpus(preemption, rule);
  let wanted = spread ? kernels.length : 1;
  for (let i = 0; i < mask.length && wanted > 0; i += 1) {
    if (mask[i] === 1) wanted -= Math.max(0, Math.floor(((whole[i] as number) + (gpus[i] as number)) / each));
  }
  return wanted <= 0;
}
