import type { OrderKind, PoolPlan, PoolSnapshot } from '../contract/index.js';

/** Claims, orders and members that are told at most, so that a text stays one screen. */
const LINES_MAX = 20;

const upTo = (lines: readonly string[], what: string): string[] =>
  lines.length <= LINES_MAX
    ? [...lines]
    : [...lines.slice(0, LINES_MAX), `and ${lines.length - LINES_MAX} more ${what}`];

const joined = (parts: readonly (string | null)[]): string => parts.filter(Boolean).join('\n\n');
const list = (lines: readonly string[]): string | null =>
  lines.length === 0 ? null : lines.map((line) => `- ${line}`).join('\n');

/**
 * What Temporal's UI shows of a pool: `note` is the ledger's count of members and claims, and what of its account is in error;
 * then who waits for what, and what the last turn decided, with its reasons.
 */
export function poolDetails(snapshot: PoolSnapshot, plan: PoolPlan, note: string): string {
  const { pool, gpus } = snapshot;
  const holes = gpus.filter((gpu) => gpu.holes.length > 0).map((gpu) => `${gpu.name}: ${gpu.holes.join(', ')}`);
  const waiting = plan.reasons.flatMap(({ model, reason }) =>
    reason === null ? [] : [`${model}: ${reason.code}: ${reason.message}`],
  );
  return joined([
    `Pool **${pool}**, ${gpus.length} GPUs: ${note}`,
    snapshot.membersWaitFor && `Members wait: ${snapshot.membersWaitFor.message}`,
    holes.length === 0 ? null : `Not known, so nothing new there:\n${list(upTo(holes, 'GPUs'))}`,
    waiting.length === 0 ? null : `Do not serve:\n${list(upTo(waiting, 'claims'))}`,
    decided(plan),
    `\`berth pool get ${pool}\` · \`berth gpu ${pool}\``,
  ]);
}

function decided({ places, orders, limits }: PoolPlan): string | null {
  const lines = [
    ...places.map(({ model, gpus, because }) => `${model} goes to ${gpus.join(', ')}: ${because}`),
    ...orders.map(({ model, kind, because }) => `${kind} ${model}: ${because}`),
    ...limits.map(
      ({ node, lower, raise, because }) => `limits on ${node}: ${lower.length} down, ${raise.length} up: ${because}`,
    ),
  ];
  return lines.length === 0 ? null : `Decided last:\n${list(upTo(lines, 'decisions'))}`;
}

export interface ShownOrder {
  readonly instanceId: string;
  readonly kind: OrderKind;
  readonly seq: number;
  readonly node: string;
}

const DOING: Readonly<Record<OrderKind, string>> = {
  start: 'starts',
  sleep: 'is put to sleep',
  wake: 'is woken',
  stop: 'drains and is stopped',
};

export const orderText = ({ instanceId, kind, node, seq }: ShownOrder): string =>
  `engine ${instanceId} on ${node} ${DOING[kind]} (order ${seq})`;

/** What Temporal's UI shows of a claim: `details` is the ledger's word on its phase, reason and engines. */
export const claimDetails = (
  claim: { readonly modelName: string; readonly pool: string; readonly details: string },
  orders: readonly ShownOrder[],
): string =>
  joined([
    claim.details,
    list(upTo(orders.map(orderText), 'orders')),
    `\`berth model get ${claim.modelName}\` · its planner: workflow \`pool/${claim.pool}\``,
  ]);
