import { isCancellation } from '@temporalio/workflow';
import type { LimitOrder, MemberLimits } from '../activities/control/model-activities.js';
import type { LimitResult } from '../src/contract/index.js';
import { raisable } from '../src/lifecycle/raisable.js';
import { control, limitsOn } from './activity-table.js';

interface Turn {
  readonly pool: string;
  readonly turn: number;
}

/**
 * Carries out one member's limits: lower, read back, record, and only then raise and record. True when something is not in
 * force as it was asked, so that another turn is wanted. A node that does not answer costs its own members their limits, and
 * nobody else more than the 5 s.
 */
export async function divideMember(turn: Turn, member: MemberLimits): Promise<boolean> {
  const { lower, raise } = member;
  const lowered = lower.length === 0 ? null : await write(turn, member, 'lower');
  const rising = lowered === null ? raise : raisable(member, lowered.results);
  if (rising.length === 0) return (lowered?.again ?? false) || raise.length > 0;
  const raised = await write(turn, { ...member, raise: rising }, 'raise');
  return (lowered?.again ?? false) || raised.again || rising.length < raise.length;
}

type Written = { readonly results: readonly LimitResult[] | 'unreachable'; readonly again: boolean };

async function write({ pool, turn }: Turn, member: MemberLimits, stage: 'lower' | 'raise'): Promise<Written> {
  const { node, memberSessionId } = member;
  const writes = member[stage].map(({ instanceId, toBytes }: LimitOrder) => ({ instanceId, toBytes }));
  const results = await limitsOn(
    node,
    `${stage} ${writes.length} limits on ${node}`,
  )({ memberSessionId, turn, writes, stage }).catch((error: unknown) => {
    if (isCancellation(error)) throw error;
    return 'unreachable' as const;
  });
  const { again } = await control.recordLimits({ pool, memberSessionId, results });
  return { results, again };
}
