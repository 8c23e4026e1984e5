import { expect, test } from 'vitest';
import type { PoolPlan } from '../../src/contract/index.js';
import { poolSnapshotSchema } from '../../src/contract/index.js';
import { claimDetails, poolDetails } from '../../src/lifecycle/model-details.js';

const empty: PoolPlan = {
  places: [],
  orders: [],
  reasons: [],
  holds: [],
  calledOff: [],
  limits: [],
  planned: {},
  short: [],
  nextLookMs: null,
};
const snapshot = poolSnapshotSchema.parse({
  pool: 'chat',
  policy: {},
  gpus: [{ name: 'n1/0', member: 's', device: 'd', usableBytes: null, holes: ['not measured'] }],
  members: [],
  claims: [],
  instances: [],
});

test('a pool says who does not serve and why, what is not known, and what it decided last', () => {
  const reason = { code: 'NoRoom', message: 'needs 40 GiB', data: {} } as const;
  const text = poolDetails(
    snapshot,
    {
      ...empty,
      reasons: [
        { claimId: 'c', model: 'llama', reason },
        { claimId: 'd', model: 'phi', reason: null },
      ],
      orders: [{ instanceId: 'i', model: 'qwen', kind: 'sleep', because: 'idle the longest', for: 'llama' }],
    },
    '1 of 1 members ready',
  );
  expect(text).toBe(
    [
      'Pool **chat**, 1 GPUs: 1 of 1 members ready',
      'Not known, so nothing new there:\n- n1/0: not measured',
      'Do not serve:\n- llama: NoRoom: needs 40 GiB',
      'Decided last:\n- sleep qwen: idle the longest',
      '`berth pool get chat` · `berth gpu chat`',
    ].join('\n\n'),
  );
});

test('a thousand claims are one screen', () => {
  const reason = { code: 'NoRoom', message: 'no', data: {} } as const;
  const reasons = Array.from({ length: 1_000 }, (_, at) => ({ claimId: `${at}`, model: `m${at}`, reason }));
  const text = poolDetails(snapshot, { ...empty, reasons }, 'ready');
  expect(text.split('\n').length).toBeLessThan(40);
  expect(text).toContain('and 980 more claims');
});

test('a claim says what is done to its engines', () => {
  const order = { instanceId: 'eng_1', kind: 'wake', seq: 3, node: 'n1' } as const;
  const text = claimDetails({ modelName: 'llama', pool: 'chat', details: '**llama** in chat: WAKING' }, [order]);
  expect(text).toContain('- engine eng_1 on n1 is woken (order 3)');
  expect(text).toContain('`berth model get llama`');
});
