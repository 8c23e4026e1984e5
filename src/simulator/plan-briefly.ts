import { type Decisions, type Moment, maySift, planSifted, planWhole } from './plan-queue.js';
import { planStrands } from './plan-strands.js';

/** The decisions of a whole pass, with the least that they can be had with. */
export function planBriefly(moment: Moment): Decisions {
  const { order, backfill, maxWaitSeconds, paused } = moment.policy;
  if (maySift(moment)) return planSifted(moment);
  const isSimple = order === 'fair-share' && backfill !== 'conservative' && maxWaitSeconds === null && !paused;
  return isSimple ? planStrands(moment) : planWhole(moment);
}
