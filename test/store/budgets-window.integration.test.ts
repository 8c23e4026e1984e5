import fc from 'fast-check';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { capacityTime, type HealthyInterval } from '../../src/budgets/capacity-time.js';
import type { BudgetId } from '../../src/contract/index.js';
import { HOUR, makeBudget, openFairLedger } from './budgets.js';
import { emptyPlan, hashOf, type Ledger, nodeFacts, openPass } from './ledger.js';
import { query } from './upkeep.js';

const DAY = 24 * HOUR;
let ledger: Ledger;
let budgets: readonly BudgetId[];
beforeAll(async () => {
  ledger = await openFairLedger();
  budgets = [await makeBudget(ledger, 'a'), await makeBudget(ledger, 'b')];
});
afterAll(() => ledger.store.close());
beforeEach(() => query(ledger, 'TRUNCATE reservations, gpu_time_buckets CASCADE'));

interface Occupied {
  readonly budget: number;
  readonly startMs: number;
  /** null: it holds its room still. */
  readonly endMs: number | null;
  readonly milliGpus: number;
  readonly kind: 'charged' | 'unallocated' | 'uncharged';
  readonly isFolded: boolean;
}

/** Straight into the table; those that are to be folded are folded by a pass, like any. */
async function insert(occupied: readonly Occupied[]): Promise<void> {
  const client = new pg.Client({ connectionString: ledger.url });
  await client.connect();
  const write = (rows: readonly Occupied[], first: number) =>
    client.query(
      `INSERT INTO reservations (kernel_id, attempt, session_id, user_id, project_id, domain_id, node, epoch, cpu_milli, memory_bytes,
         gpu_count, gpu_memory_bytes, created_at, released_at, milli_gpus, budget_id, allocated, charged, fair_share)
       SELECT 'k' || ($2 + o.n), 1, 's' || ($2 + o.n), 'u', 'p', 'd', 'n1', 1000 + $2 + o.n, 0, 0, 0, 0, to_timestamp(o.start / 1000.0),
         to_timestamp(o.until / 1000.0), o.milli, o.budget, o.kind <> 'unallocated', o.kind <> 'uncharged', true
       FROM ROWS FROM (jsonb_to_recordset($1::jsonb) AS (start float8, until float8, milli bigint, budget text, kind text))
         WITH ORDINALITY AS o(start, until, milli, budget, kind, n)`,
      [
        JSON.stringify(
          rows.map((one) => ({
            start: one.startMs,
            until: one.endMs,
            milli: one.milliGpus,
            budget: budgets[one.budget],
            kind: one.kind,
          })),
        ),
        first,
      ],
    );
  try {
    await client.query(`SET session_replication_role = replica`); // no kernels stand behind these
    const folded = occupied.filter((one) => one.isFolded && one.endMs !== null);
    await write(folded, 0);
    const pass = await openPass(ledger.store);
    await pass.commit(emptyPlan(pass));
    await pass.close();
    await write(
      occupied.filter((one) => !folded.includes(one)),
      1_000_000,
    );
  } finally {
    await client.end();
  }
}

const overlap = (one: Occupied, fromMs: number, untilMs: number): number =>
  one.milliGpus * Math.max(0, Math.min(one.endMs ?? untilMs, untilMs) - Math.max(one.startMs, fromMs));
const sumOf = (
  occupied: readonly Occupied[],
  which: { readonly budget?: number; readonly kind?: Occupied['kind'] },
  [fromMs, untilMs]: readonly [number, number],
): number =>
  occupied
    .filter(({ budget, kind }) => budget === (which.budget ?? budget) && kind === (which.kind ?? kind))
    .reduce((sum, one) => sum + overlap(one, fromMs, untilMs), 0);

/** Lengths and moments that meet hours and days exactly, and ones that do not. */
const spanOf = (most: number) =>
  fc.oneof(
    fc.integer({ min: 0, max: most }),
    fc.integer({ min: 0, max: Math.floor(most / HOUR) }).map((hours) => hours * HOUR),
    fc.integer({ min: 0, max: 5000 }),
  );
const occupiedAt = (now: number) =>
  fc
    .record({
      budget: fc.integer({ min: 0, max: 1 }),
      ago: spanOf(10 * DAY),
      length: fc.option(spanOf(4 * DAY)),
      onTheHour: fc.boolean(),
      milliGpus: fc.integer({ min: 1, max: 16_000 }),
      kind: fc.constantFrom('charged', 'unallocated', 'uncharged' as const),
      isFolded: fc.boolean(),
    })
    .map(({ ago, length, onTheHour, ...rest }): Occupied => {
      const startMs = onTheHour ? Math.floor((now - ago) / HOUR) * HOUR : now - ago;
      return { ...rest, startMs, endMs: length === null ? null : Math.min(now, startMs + length) };
    });

test('a window and any periods sum to what a naive sum of the intervals says, to the unit, folded or not', async () => {
  const now = Date.now() - 1000;
  await fc.assert(
    fc.asyncProperty(
      fc.array(occupiedAt(now), { maxLength: 60 }),
      spanOf(9 * DAY),
      fc.array(spanOf(12 * DAY), { minLength: 2, maxLength: 8 }),
      async (occupied, window, agos) => {
        await query(ledger, 'TRUNCATE reservations, gpu_time_buckets CASCADE');
        await insert(occupied);
        const windowSeconds = Math.max(10, Math.round(window / 1000));
        await ledger.store.budgets.putSettings(
          { windowSeconds, halfLifeSeconds: null, factors: {}, unallocatedGraceSeconds: 30 },
          { principal: ledger.admin, etag: null },
        );
        const facts = await ledger.store.budgets.facts();
        const at = Date.parse(facts.at);
        budgets.forEach((id, budget) => {
          const leaf = facts.leaves.find((one) => one.id === id);
          const inWindow = [at - windowSeconds * 1000, at] as const;
          expect(leaf?.use ?? 0).toBe(sumOf(occupied, { budget, kind: 'charged' }, inWindow));
          expect(leaf?.unallocatedUse ?? 0).toBe(sumOf(occupied, { budget, kind: 'unallocated' }, inWindow));
        });
        const edges = [...new Set(agos.flatMap((ago) => [now - ago, Math.floor((now - ago) / HOUR) * HOUR]))].toSorted(
          (a, b) => a - b,
        );
        const periods = await ledger.store.budgets.periods(edges);
        edges.slice(0, -1).forEach((from, cell) => {
          const within = [from, edges[cell + 1] ?? from] as const;
          expect(periods.assigned[cell]).toBe(sumOf(occupied, {}, within));
          budgets.forEach((id, budget) => {
            const leaf = periods.leaves.find(({ budgetId }) => budgetId === id);
            for (const kind of ['charged', 'unallocated', 'uncharged'] as const)
              expect(leaf?.[kind][cell] ?? 0).toBe(sumOf(occupied, { budget, kind }, within));
          });
        });
      },
    ),
    { numRuns: Number(process.env['BERTH_PROPERTY_RUNS'] ?? 12) },
  );
});

test('with a half-life an hour of long ago counts less, by what is left of it', async () => {
  const now = Date.now() - 1000;
  const halfLifeMs = 6 * HOUR;
  const occupied: readonly Occupied[] = [
    { budget: 0, startMs: now - 13 * HOUR, endMs: now - 12 * HOUR, milliGpus: 4000, kind: 'charged', isFolded: true },
    { budget: 0, startMs: now - 2 * HOUR, endMs: now - 1000, milliGpus: 2000, kind: 'charged', isFolded: false },
    { budget: 0, startMs: now - HOUR, endMs: null, milliGpus: 1000, kind: 'charged', isFolded: false },
  ];
  await insert(occupied);
  await ledger.store.budgets.putSettings(
    { windowSeconds: 7 * 86_400, halfLifeSeconds: halfLifeMs / 1000, factors: {}, unallocatedGraceSeconds: 30 },
    { principal: ledger.admin, etag: null },
  );
  const { at, leaves } = await ledger.store.budgets.facts();
  const left = (moment: number) => 0.5 ** ((Date.parse(at) - moment) / halfLifeMs);
  const expected = occupied.reduce((sum, { startMs, endMs, milliGpus }) => {
    const until = endMs ?? Date.parse(at);
    return sum + (milliGpus * (left(until) - left(startMs)) * halfLifeMs) / Math.LN2;
  }, 0);
  const use = leaves.find(({ id }) => id === budgets[0])?.use ?? 0;
  expect(Math.abs(use - expected)).toBeLessThanOrEqual(1e-9 * expected + 1);
});

test('what ended before it began, by the clocks of two transactions, lasted no time and breaks nothing', async () => {
  const now = Date.now();
  await insert([{ budget: 0, startMs: now, endMs: now - 1, milliGpus: 1000, kind: 'charged', isFolded: true }]);
  const { leaves } = await ledger.store.budgets.facts();
  expect(leaves.find(({ id }) => id === budgets[0])?.use ?? 0).toBe(0);
});

test('capacity is the integral of healthy GPUs: of marks, broken devices, lost and moved nodes, and a young node counts all of the window', async () => {
  await ledger.store.budgets.putSettings(
    { windowSeconds: 7 * 86_400, halfLifeSeconds: null, factors: { big: 2 }, unallocatedGraceSeconds: 30 },
    { principal: ledger.admin, etag: null },
  );
  const { store } = ledger;
  await store.nodes.create({ name: 'young', group: 'default', zone: null, tokenHash: hashOf('young') });
  const devices = nodeFacts(2).devices.map((device) => ({ ...device, model: 'big' }));
  await store.nodes.register('young', nodeFacts(2, { devices }));
  const read = async () => {
    const { at, capacity, presentMilliGpus } = await store.budgets.facts();
    const rows = await query<{ node: string; healthy: string; start: Date; end: Date | null }>(
      ledger,
      `SELECT node, healthy_milli_gpus AS healthy, started_at AS start, ended_at AS end FROM node_health_intervals
       WHERE fair_share ORDER BY id`,
    );
    const intervals = [...new Set(rows.map(({ node }) => node))].map((name) =>
      rows
        .filter(({ node }) => node === name)
        .map(
          ({ healthy, start, end }): HealthyInterval => ({
            startMs: start.getTime(),
            endMs: end?.getTime() ?? null,
            milliGpus: Number(healthy),
          }),
        ),
    );
    expect(capacity).toBe(capacityTime(intervals, Date.parse(at), 7 * DAY));
    return { capacity, presentMilliGpus };
  };
  expect((await read()).presentMilliGpus).toBe(4000); // not before it has reconciled
  await store.nodes.reconcile('young', { kernels: [], starting: true });
  expect(await read()).toMatchObject({ presentMilliGpus: 8000, capacity: 8000 * 7 * DAY });
  await store.nodes.setCordon('young', true, 'by hand');
  expect((await read()).presentMilliGpus).toBe(8000);
  const broken = [{ id: 'gpu-1', reason: 'XID 79' }];
  await store.nodes.health('young', { healthy: true, reason: '', images: [], unhealthyDevices: broken });
  expect((await read()).presentMilliGpus).toBe(6000);
  await store.nodes.markUnhealthy('n1', 'fans', 'hand');
  await query(
    ledger,
    `UPDATE node_health_intervals SET started_at = started_at - interval '48 hours', ended_at = ended_at - interval '48 hours'`,
  );
  expect((await read()).presentMilliGpus).toBe(2000);
  await store.nodes.markHealthy('n1', 'hand');
  await store.nodes.remove('young');
  expect((await read()).presentMilliGpus).toBe(4000);
  await store.settings.patchGroup('default', { policy: { order: 'fifo' }, ifMatch: null });
  expect((await read()).presentMilliGpus).toBe(0);
  const { total, healthy } = await store.budgets.periods([Date.now() - 9 * DAY, Date.now()]);
  expect(total[0]).toBeGreaterThan(healthy[0] ?? 0);
});
