import type { PoolPlan, PoolSnapshot } from '../contract/index.js';
import { formatBytes } from './format-amounts.js';
import { type Column, renderTable } from './table.js';

interface Line {
  readonly what: string;
  readonly model: string;
  readonly where: string;
  readonly because: string;
}

const COLUMNS: readonly Column<Line>[] = [
  { head: 'DECISION', of: ({ what }) => what },
  { head: 'MODEL', of: ({ model }) => model },
  { head: 'WHERE', of: ({ where }) => where },
  { head: 'WHY', of: ({ because }) => because },
];

/** A pool's plan for people: one line a decision in the order of the turn, then limits in the order of their writes. */
export function poolPlanText(plan: PoolPlan, snapshot: PoolSnapshot, now: Date): string {
  const lines = [...decided(plan, snapshot), ...waiting(plan), ...written(plan, snapshot)];
  const table = lines.length === 0 ? 'nothing changes' : renderTable(lines, COLUMNS, { isWide: false, now });
  const next = plan.nextLookMs === null ? [] : [`next look at ${new Date(plan.nextLookMs).toISOString()}`];
  return [`pool ${snapshot.pool}, at ${now.toISOString()}`, table, ...next].join('\n');
}

const gpusOf = ({ instances }: PoolSnapshot, id: string): string =>
  instances.find((instance) => instance.id === id)?.gpus.join(', ') ?? '';

function decided({ orders, places, holds, calledOff }: PoolPlan, snapshot: PoolSnapshot): readonly Line[] {
  const model = (claimId: string): string => snapshot.claims.find(({ id }) => id === claimId)?.model ?? claimId;
  return [
    ...orders.map((order) => ({
      what: order.kind,
      model: order.model,
      where: gpusOf(snapshot, order.instanceId),
      because: order.because,
    })),
    ...places.map(({ model: name, gpus, movesFrom, because }) => ({
      what: movesFrom === null ? 'place' : 'move',
      model: name,
      where: gpus.join(', '),
      because,
    })),
    ...holds.map(({ claimId, gpus, bytes, untilMs, because }) => ({
      what: `hold ${formatBytes(bytes)}`,
      model: model(claimId),
      where: gpus.join(', '),
      because: `${because}, until ${new Date(untilMs).toISOString()}`,
    })),
    ...calledOff.map(({ model: name, because }) => ({ what: 'call off', model: name, where: '', because })),
  ];
}

const waiting = ({ reasons }: PoolPlan): readonly Line[] =>
  reasons.flatMap(({ model, reason }) =>
    reason === null ? [] : [{ what: reason.code, model, where: '', because: reason.message }],
  );

function written({ limits }: PoolPlan, snapshot: PoolSnapshot): readonly Line[] {
  return limits.flatMap(({ because, lower, raise, node }) =>
    [
      ...lower.map((write) => ({ ...write, stage: 'lower' })),
      ...raise.map((write) => ({ ...write, stage: 'raise' })),
    ].map(({ stage, instanceId, model, fromBytes, toBytes }) => ({
      what: `${stage} to ${formatBytes(toBytes)}`,
      model,
      where: gpusOf(snapshot, instanceId) || node,
      because: `${fromBytes === null ? 'had none' : `from ${formatBytes(fromBytes)}`}: ${because}`,
    })),
  );
}
