/**
 * The window sums of 200 budgets over 10^6 intervals of eight days, after one more was folded, with all else that a snapshot carries
 * of budgets; beside a plain sum over the same buckets, and one over every interval. Run: npm run bench -- budget-window.
 */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import type { BudgetId } from '../../src/contract/index.js';
import { openFairLedger, startCharged } from '../store/budgets.js';
import { idOf, type Ledger, openPass, placeAll, stopOf } from '../store/ledger.js';
import { startTestPostgres } from '../support/postgres.js';
import { atMost, info, median, numberOption, type Result } from './support/report.js';

const INTERVALS = numberOption('intervals', 1_000_000);
const ROUNDS = 15;
const WINDOW = `interval '7 days'`;

/** Four programs of five projects of ten leaves. */
async function fillTree(client: pg.Client, domainId: string): Promise<readonly BudgetId[]> {
  const ids = Array.from({ length: 224 }, (_, index) => idOf<BudgetId>('bgt', 1000 + index));
  const parentOf = (index: number): string | undefined =>
    index < 4 ? undefined : index < 24 ? ids[Math.floor((index - 4) / 5)] : ids[4 + Math.floor((index - 24) / 10)];
  await client.query(
    `INSERT INTO budgets (id, name, parent_id, domain_id, weight)
     SELECT b.id, 'b' || b.n, coalesce(b.parent, (SELECT id FROM budgets WHERE parent_id IS NULL)), $3, 1 + b.n % 7
     FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS b(id, parent, n)`,
    [ids, ids.map((_, index) => parentOf(index) ?? null), domainId],
  );
  return ids.slice(24);
}

/** One to eight GPUs for a minute to two hours, some for two days; folded as passes would have. Nothing else stands behind them. */
async function fillIntervals(client: pg.Client, leaves: readonly BudgetId[]): Promise<void> {
  await client.query('SET session_replication_role = replica');
  const { rows: indexes } = await client.query<{ name: string; text: string; constrains: boolean }>(
    `SELECT i.indexname AS name, i.indexdef AS text, c.oid IS NOT NULL AS constrains FROM pg_indexes i
     LEFT JOIN pg_constraint c ON c.conname = i.indexname WHERE i.tablename = 'reservations' AND i.indexname <> 'reservations_pkey'`,
  );
  for (const { name, constrains } of indexes)
    await client.query(constrains ? `ALTER TABLE reservations DROP CONSTRAINT ${name}` : `DROP INDEX ${name}`);
  await client.query(
    `INSERT INTO reservations (kernel_id, attempt, session_id, user_id, project_id, domain_id, node, epoch, cpu_milli, memory_bytes,
       gpu_count, gpu_memory_bytes, created_at, released_at, milli_gpus, budget_id, allocated, fair_share, folded, node_released)
     SELECT 'k' || n, 1, 's' || n, 'u', 'p', 'd', 'n1', 1000000 + n, 0, 0, 0, 0, b.start,
       least(now(), b.start + (60 + random() * CASE WHEN n % 100 = 0 THEN 172800 ELSE 7200 END) * interval '1 second'),
       1000 * (1 + n % 8), ($1::text[])[1 + n % 200], n % 10 <> 0, true, true, true
     FROM generate_series(1, $2::int) n CROSS JOIN LATERAL (SELECT now() - random() * interval '8 days' * (1 + n * 0) AS start) b`,
    [leaves, INTERVALS],
  );
  for (const { text } of indexes) await client.query(text);
  await client.query('SELECT add_gpu_time(array_agg(id)) FROM reservations WHERE folded GROUP BY id % 20');
  await client.query('SET session_replication_role = origin');
  await client.query('VACUUM ANALYZE');
}

/** One more interval of a leaf is released and folded. */
async function foldOne(ledger: Ledger, leaf: BudgetId | undefined): Promise<void> {
  const sessionId = await startCharged(ledger, leaf ?? null);
  await ledger.store.sessions.requestStop(stopOf(sessionId));
  await ledger.store.sessions.finish(sessionId, 1, true);
  await placeAll(ledger.store);
}

/** ms of CPU of this process and of all backends of the database, in steps of 10 ms of each backend: means of many rounds only. */
async function cpuMs(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ pid: number }>(
    'SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
  );
  const own = process.cpuUsage();
  return rows.reduce(
    (sum, { pid }) => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
      return sum + 10 * (Number(fields[11]) + Number(fields[12]));
    },
    (own.user + own.system) / 1000,
  );
}

/** Each round after one more fold. */
async function afterEachFold(
  bench: Bench,
  work: () => Promise<unknown>,
): Promise<{ readonly cpu: number; readonly wall: number }> {
  const walls: number[] = [];
  let cpu = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    await foldOne(bench.ledger, bench.leaf);
    const before = await cpuMs(bench.client);
    walls.push(await timed(1, work));
    cpu += (await cpuMs(bench.client)) - before;
  }
  return { cpu: cpu / ROUNDS, wall: median(walls) };
}
interface Bench {
  readonly ledger: Ledger;
  readonly client: pg.Client;
  readonly leaf: BudgetId | undefined;
}

async function timed(rounds: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return median(times);
}

async function opened(ledger: Ledger): Promise<void> {
  const pass = await openPass(ledger.store);
  await pass.close();
}

async function measure({ ledger, client, leaf }: Bench): Promise<Result['rows']> {
  const sums = await afterEachFold({ ledger, client, leaf }, () => ledger.store.budgets.forGroup('default'));
  const pass = await afterEachFold({ ledger, client, leaf }, () => opened(ledger));
  const floor = await timed(ROUNDS, () =>
    client.query({
      name: 'floor',
      text: `SELECT kind, account, sum(gpu_time)::bigint FROM gpu_time_buckets
        WHERE size = 'hour' AND start >= now() - ${WINDOW} GROUP BY kind, account`,
    }),
  );
  const naive = await timed(3, () =>
    client.query(`SELECT budget_id, sum(milli_gpus * ms_of(released_at - greatest(created_at, now() - ${WINDOW})))::bigint
      FROM reservations WHERE fair_share AND released_at > now() - ${WINDOW} GROUP BY budget_id`),
  );
  const day = 86_400_000;
  const hour = day / 24;
  const last = Math.floor(Date.now() / hour) * hour;
  const edges = [Date.now() - 7 * day, ...Array.from({ length: 56 }, (_, index) => last - (55 - index) * 3 * hour)];
  const periods = await timed(3, () => ledger.store.budgets.periods(edges));
  await ledger.store.budgets.putSettings(
    { windowSeconds: 604_800, halfLifeSeconds: 86_400, factors: {}, unallocatedGraceSeconds: 30 },
    { principal: ledger.admin, etag: null },
  );
  const decayed = await timed(3, () => ledger.store.budgets.forGroup('default'));
  return [
    atMost({ name: 'budgets of a snapshot after a fold, CPU', measured: sums.cpu, unit: 'ms' }, 50),
    info({ name: 'the same, wall; floor: a plain sum of the hours', measured: sums.wall, floor, unit: 'ms' }),
    info({ name: 'a pass opened, all of it, CPU', measured: pass.cpu, unit: 'ms' }),
    info({ name: 'summed from every interval', measured: naive, unit: 'ms' }),
    info({ name: 'a report of the week in 56 cells', measured: periods, unit: 'ms' }),
    info({ name: 'the same window with a half-life', measured: decayed, unit: 'ms' }),
  ];
}

export async function run(): Promise<Result> {
  const server = await startTestPostgres();
  const ledger = await openFairLedger(4, server.url);
  const client = new pg.Client({ connectionString: server.url });
  try {
    await client.connect();
    const leaves = await fillTree(client, ledger.admin.domainId);
    await fillIntervals(client, leaves);
    const rows = await measure({ ledger, client, leaf: leaves[0] });
    const notes = [`${INTERVALS} intervals of ${leaves.length} leaves; CPU is of client and server together`];
    return { name: 'budget-window', rows, notes };
  } finally {
    await client.end();
    await ledger.store.close();
    await server.stop();
  }
}
