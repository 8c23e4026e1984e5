import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { BudgetReport } from '../../src/contract/index.js';
import { ROOT_BUDGET_ID } from '../../src/contract/index.js';
import { openDatabase } from '../../src/store/database.js';
import { sql } from '../../src/store/sql.js';
import { idOf } from '../store/ledger.js';
import { GIB, readyNode, session, startTestApi, type TestApi } from './support.js';

const HOUR_MS = 3_600_000;
/** The start of the period: whole hours ago, so that everything is told in hours since then. */
const FROM = Math.floor(Date.now() / HOUR_MS) * HOUR_MS - 10 * HOUR_MS;
const at = (hours: number): string => new Date(FROM + hours * HOUR_MS).toISOString();
const period = (from: number, until: number): string => `from=${at(from)}&until=${at(until)}`;

let api: TestApi;
let db: ReturnType<typeof openDatabase>;
const keys: Record<string, string> = {};
const LAB = idOf('bgt', 1);
const NLP = idOf('bgt', 2);
const OTHER = idOf('bgt', 3);
const OTHER_LEAF = idOf('bgt', 4);

interface Past {
  readonly budget: string | null;
  /** Hours since the period began: assigned, running, returned (null: it holds them still). */
  readonly at: readonly [assigned: number, running: number, returned: number | null];
  readonly gpus: number;
  readonly minRuntimeHours: number;
  readonly charged?: boolean;
}

/** A session that was submitted when the period began, with one attempt as the ledger keeps it. */
async function past(name: string, { budget, at: hours, gpus, minRuntimeHours, charged = true }: Past): Promise<string> {
  const spec = session({ name, kernels: [{ slots: { cpuMilli: 100, memoryBytes: GIB, gpuCount: gpus } }] });
  const id: string = (await api.call(keys['ann'] ?? '', 'POST', '/v1/sessions', spec)).json().id;
  const [assigned, running, returned] = hours.map((hour) => (hour === null ? null : at(hour)));
  await db.run(sql`
    UPDATE sessions SET submitted_at = ${at(0)}, budget_id = ${budget}, state = ${returned === null ? 'RUNNING' : 'TERMINATED'},
      ended_at = ${returned}, spec = spec || jsonb_build_object('minRuntimeSeconds', ${minRuntimeHours * 3600}::float8) WHERE id = ${id}`);
  await db.run(sql`
    INSERT INTO reservations (kernel_id, attempt, session_id, user_id, project_id, domain_id, node, epoch, cpu_milli, memory_bytes, gpu_count,
      gpu_memory_bytes, created_at, running_at, released_at, milli_gpus, budget_id, allocated, fair_share, charged)
    SELECT k.id, 1, s.id, s.user_id, s.project_id, s.domain_id, 'node-1', (SELECT count(*) + 1 FROM reservations), 100, 1, ${gpus}, 0,
      ${assigned}, ${running}, ${returned}, ${gpus * 1000}, ${budget}, ${budget !== null && minRuntimeHours > 0}, true, ${charged}
    FROM sessions s JOIN kernels k ON k.session_id = s.id WHERE s.id = ${id}`);
  return id;
}

/** Of each hour since the period began: how many percent of its time the session's devices computed. */
const measured = async (id: string, gpus: number, hours: Readonly<Record<number, number>>): Promise<void> => {
  for (const [hour, percent] of Object.entries(hours)) {
    const observed = gpus * HOUR_MS;
    await db.run(sql`
      INSERT INTO gpu_use_hours (kernel_id, attempt, hour, busy_ms, observed_ms)
      SELECT id, 1, ${at(Number(hour))}, ${(observed * percent) / 100}, ${observed} FROM kernels WHERE session_id = ${id}`);
  }
};

beforeAll(async () => {
  api = await startTestApi();
  db = openDatabase({ connectionString: api.databaseUrl });
  await readyNode(api);
  keys['ann'] = await api.user('ann');
  keys['bob'] = await api.user('bob', { domain: 'elsewhere' });
  await db.run(sql`UPDATE resource_groups SET policy = policy || '{"order": "fair-share"}'`);
  await db.run(sql`
    INSERT INTO budgets (id, name, parent_id, weight, domain_id)
    SELECT b.id, b.name, b.parent_id, b.weight, d.id FROM (VALUES
      (${LAB}, 'lab', ${ROOT_BUDGET_ID}, 3, 'default'), (${NLP}, 'nlp', ${LAB}, 1, 'default'),
      (${OTHER}, 'other', ${ROOT_BUDGET_ID}, 1, 'elsewhere'), (${OTHER_LEAF}, 'secret', ${OTHER}, 1, 'elsewhere')
    ) AS b(id, name, parent_id, weight, domain) JOIN domains d ON d.name = b.domain`);
  await db.run(sql`
    INSERT INTO budget_versions (budget_id, parent_id, weight, since)
    SELECT id, parent_id, weight, ${at(-100)} FROM budgets WHERE id <> ${ROOT_BUDGET_ID}`);
  await db.run(sql`UPDATE budget_versions SET since = ${at(-100)}`);
  await db.run(sql`UPDATE node_health_intervals SET started_at = ${at(-100)}`);
});
afterAll(async () => {
  await db.pool.end();
  await api.close();
});

async function report(query: string, { key = api.adminKey, budget = 'root' } = {}): Promise<BudgetReport> {
  const answer = await api.call(key, 'GET', `/v1/budgets/${budget}/report?${query}`);
  expect(answer.statusCode).toBe(200);
  return answer.json();
}
const hours = (gpuSeconds: number | null): number | null => (gpuSeconds === null ? null : gpuSeconds / 3600);

describe('a report on ten hours of four GPUs', () => {
  beforeAll(async () => {
    const train = await past('train', { budget: NLP, at: [1, 1.5, 5.25], gpus: 2, minRuntimeHours: 1 });
    const parked = await past('parked', { budget: NLP, at: [6, 6, 9], gpus: 1, minRuntimeHours: 3 });
    const free = await past('free', { budget: null, at: [2, 2, 8], gpus: 1, minRuntimeHours: 0 });
    const cut = await past('cut', {
      budget: OTHER_LEAF,
      at: [0.5, 0.5, 1],
      gpus: 1,
      minRuntimeHours: 4,
      charged: false,
    });
    await past('failed', { budget: OTHER_LEAF, at: [0.25, 0.5, 0.5], gpus: 1, minRuntimeHours: 4, charged: false });
    await measured(train, 2, { 2: 90, 3: 90, 4: 90 });
    await measured(parked, 1, { 6: 1, 7: 0, 8: 2 });
    await measured(free, 1, { 2: 50 });
    await db.run(sql`
      INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, data)
      VALUES (${cut}, 'state', 'RUNNING', 'PREEMPTING', 'drained', 'planner', 1, '{"breaksMinRuntime": true}')`);
    await db.run(sql`
      INSERT INTO demand_intervals (session_id, budget_id, milli_gpus, started_at, ended_at)
      VALUES (${train}, ${NLP}, 2000, ${at(0)}, ${at(5.25)})`);
  });

  test('adds up what was assigned, charged, free, and not charged, exactly', async () => {
    const { waterfall, pyramid, groups } = await report(period(0, 10));
    const { measuredGpuSeconds, usedGpuSeconds, ...parts } = waterfall;
    expect(Object.values(parts).map(hours)).toEqual([40, 40, 18.25, 11.5, 6, 0.75]);
    expect([measuredGpuSeconds, usedGpuSeconds].map(hours)).toEqual([10, 5.93]);
    expect(pyramid).toMatchObject({ availability: 1, occupancy: 18.25 / 40, allocatedOfAssigned: 11.5 / 18.25 });
    expect([groups, pyramid.utilizationReason]).toEqual([['default'], 'measured in 54.8 % of the assigned time']);
  });

  test('cuts intervals and measured hours where the period begins and ends', async () => {
    const { waterfall, periods } = await report(period(2.5, 4.25));
    expect(hours(waterfall.chargedGpuSeconds)).toBe(3.5);
    expect([waterfall.measuredGpuSeconds, waterfall.usedGpuSeconds].map(hours)).toEqual([4, expect.closeTo(3.4, 6)]);
    expect(periods.length).toBeGreaterThan(10);
  });

  test('gives a leaf its allocated time, its demand and its impact', async () => {
    const { leaves, pyramid } = await report(period(0, 10), { budget: 'lab' });
    expect(leaves).toMatchObject([{ budget: 'lab/nlp', claim: 0.75, state: 'open' }]);
    const { allocatedGpuSeconds = 0, usedGpuSeconds = 0, demandGpuSeconds = 0 } = leaves[0] ?? {};
    expect([allocatedGpuSeconds, usedGpuSeconds, demandGpuSeconds].map(hours)).toEqual([30, 11.5, 10.5]);
    expect(pyramid.impact).toBe(1);
  });

  test('tells waits for the first GPU by minimum runtime, and who waited at its end', async () => {
    const { waits } = await report(period(0, 10));
    const told = waits.map(({ class: name, started, medianSeconds, waiting }) => [
      name,
      started,
      medianSeconds,
      waiting,
    ]);
    expect(told).toEqual([
      ['short', 2, 1.5 * 3600, 0],
      ['short-charged', 1, 1.5 * 3600, 0],
      ['unallocated', 1, 2 * 3600, 0],
      ['long', 3, 0.5 * 3600, 0],
    ]);
    const early = (await report(period(0, 1.25))).waits;
    expect(early.map(({ started, waiting }) => [started, waiting])).toEqual([
      [0, 2],
      [0, 1],
      [0, 1],
      [2, 1],
    ]);
  });

  test('lists what was paid and idle to who may see it, and only that', async () => {
    const { paidIdle } = await report(`${period(0, 10)}&idleBelowPercent=5`);
    expect(paidIdle.sessions).toMatchObject([
      { name: 'parked', user: 'ann', project: 'default/default-work', budget: 'lab/nlp' },
    ]);
    expect([paidIdle.paidGpuSeconds, paidIdle.idleGpuSeconds].map(hours)).toEqual([3, 2.97]);
    const own = await report(period(0, 10), { key: keys['ann'] ?? '', budget: 'lab~nlp' });
    expect(own.paidIdle.sessions.map(({ name }) => name)).toEqual(['parked']);
    const foreign = await report(period(0, 10), { key: keys['bob'] ?? '' });
    expect(foreign.paidIdle.sessions).toEqual([]);
  });

  test('lists a broken contract, and no failure of the platform', async () => {
    const { brokenContracts } = await report(period(0, 10));
    expect(brokenContracts).toMatchObject([
      { name: 'cut', budget: 'other/secret', promisedSeconds: 4 * 3600, ranSeconds: 1800, unchargedGpuSeconds: 1800 },
    ]);
  });

  test('shows the figures of all to another domain, and no names below the first level', async () => {
    const seen = await report(period(0, 10), { key: keys['ann'] ?? '' });
    expect(hours(seen.waterfall.assignedGpuSeconds)).toBe(18.25);
    expect([seen.branches, seen.leaves.map(({ budget }) => budget)]).toEqual([['lab', 'other'], ['lab/nlp']]);
    const branch = await report(period(0, 10), { key: keys['ann'] ?? '', budget: 'other' });
    expect([branch.branches, branch.leaves, branch.brokenContracts.map(({ name }) => name)]).toEqual([
      ['others'],
      [],
      ['cut'],
    ]);
    const hidden = await api.call(keys['ann'] ?? '', 'GET', `/v1/budgets/other~secret/report?${period(0, 10)}`);
    expect([hidden.statusCode, hidden.json().code]).toEqual([404, 'not_found']);
  });

  test('is told as metrics too: by budget, by part, and by wait', async () => {
    const { body } = await api.call(api.adminKey, 'GET', '/metrics');
    expect(body).toMatch(/^berth_budget_used_gpu_seconds\{[^}]*budget="lab\/nlp"[^}]*\} 41400$/m);
    expect(body).toMatch(/^berth_budget_claim\{[^}]*budget="other"[^}]*\} 0\.25$/m);
    expect(body).toMatch(/^berth_pyramid_gpu_seconds\{[^}]*part="not_charged"[^}]*\} 2700$/m);
    expect(body).toMatch(/^berth_first_gpu_seconds\{[^}]*class="long"[^}]*quantile="0.5"[^}]*\} 1800$/m);
    expect(body).toMatch(/^berth_broken_contracts\{[^}]*\} 1$/m);
  });

  test('is Markdown or one HTML file where that is asked for', async () => {
    for (const [format, start] of [
      ['markdown', '# GPU time of lab/nlp'],
      ['html', '<!DOCTYPE html>'],
    ] as const) {
      const answer = await api.call(
        api.adminKey,
        'GET',
        `/v1/budgets/lab~nlp/report?${period(0, 10)}&format=${format}`,
      );
      expect(answer.headers['content-type']).toBe(`text/${format}; charset=utf-8`);
      expect(answer.body.startsWith(start)).toBe(true);
    }
  });
});

test('without a period it is on the window that ends now; one that lies ahead or ends before it begins is refused', async () => {
  const { from, until } = await report('');
  expect(Date.parse(until) - Date.parse(from)).toBe(604_800_000);
  for (const query of [`from=${at(100)}`, `from=${at(3)}&until=${at(2)}`]) {
    const answer = await api.call(api.adminKey, 'GET', `/v1/budgets/root/report?${query}`);
    expect([answer.statusCode, answer.json().errors[0].pointer]).toEqual([400, '/from']);
  }
});
