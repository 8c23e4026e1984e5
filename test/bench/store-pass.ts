/**
 * What a pass, a submit, `why` and the queue cost in Postgres, with 100 and with 10,000 waiting, on 1,000 nodes of 8 GPUs.
 * Medians; each must stay within 2 × of that at 100. Run: npm run bench -- store-pass.
 */
import pg from 'pg';
import type { SessionId } from '../../src/contract/index.js';
import { emptyPlan, idOf, type Ledger, openLedger, openPass, submitAndAdmit } from '../store/ledger.js';
import { startTestPostgres } from '../support/postgres.js';
import { atMostFloor, info, type Result } from './support/report.js';

const NODES = 1000;
const GPUS = 8;
const ROUNDS = 9;
const FIRST = 1_000_000;

async function fillNodes(client: pg.Client): Promise<void> {
  await client.query(
    `INSERT INTO nodes (name, group_name, token_hash, reconciled, cpu_milli, memory_bytes, agent_url, address, engine_id)
     SELECT 'b' || lpad(n::text, 4, '0'), 'default', decode(md5(n::text), 'hex'), true, 128000, 1::bigint << 40, 'http://x', 'x', 'e'
     FROM generate_series(1, $1::int) n`,
    [NODES],
  );
  await client.query(
    `INSERT INTO node_use (node, cpu_milli_limit, memory_bytes_limit, gpu_count_limit)
     SELECT name, 128000, 1::bigint << 40, $1 FROM nodes WHERE name LIKE 'b%'`,
    [GPUS],
  );
  await client.query(
    `INSERT INTO devices (node, id, device_index, model, memory_bytes, simulated, healthy)
     SELECT name, 'gpu-' || d, d, 'h100', 80::bigint << 30, true, true FROM nodes, generate_series(0, $1 - 1) d WHERE name LIKE 'b%'`,
    [GPUS],
  );
}

/** Waiting sessions of one kernel, copied from one that was admitted. */
async function fillQueue(
  client: pg.Client,
  like: SessionId,
  range: { readonly from: number; readonly to: number },
): Promise<void> {
  const ids = (kind: string) =>
    Array.from({ length: range.to - range.from }, (_, i) => idOf(kind, FIRST + range.from + i));
  await client.query(
    `INSERT INTO sessions (id, name, kind, state, user_id, project_id, domain_id, group_name, spec, cluster_mode, priority,
       cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes, submitted_at)
     SELECT i.id, i.id, s.kind, 'PENDING', s.user_id, s.project_id, s.domain_id, s.group_name, s.spec, s.cluster_mode, s.priority,
       s.cpu_milli, s.memory_bytes, 8, 0, now() + i.n * interval '1 ms'
     FROM sessions s, unnest($2::text[]) WITH ORDINALITY AS i(id, n) WHERE s.id = $1`,
    [like, ids('ses')],
  );
  await client.query(
    `INSERT INTO kernels (id, session_id, role, group_role, rank, hostname, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes)
     SELECT k, s, 'main', 'main', 0, 'main', 8000, 1::bigint << 36, 8, 0 FROM unnest($1::text[], $2::text[]) AS i(k, s)`,
    [ids('krn'), ids('ses')],
  );
  await client.query('VACUUM ANALYZE');
}

async function median(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  await work();
  for (let round = 0; round < ROUNDS; round += 1) {
    const started = performance.now();
    await work();
    times.push(performance.now() - started);
  }
  return times.toSorted((a, b) => a - b)[Math.floor(ROUNDS / 2)] ?? 0;
}

/** A pass whose head is blocked: open, one page, the reason of the head. */
async function blockedPass({ store }: Ledger): Promise<void> {
  const pass = await openPass(store);
  const [head] = await pass.nextPage();
  if (head === undefined) throw new Error('nobody waits');
  const told = {
    message: `needs 8 GPU (${performance.now()})`,
    blockers: [],
    violations: [],
    nodes: null,
    nearest: null,
  };
  const start = { expectedStart: { at: null, basis: 'bench' }, decay: null };
  const waiting = [
    { sessionId: head.id, version: head.version, reason: 'insufficient_capacity' as const, ...told, ...start },
  ];
  await pass.commit(emptyPlan(pass, { waiting, blockedBy: head.id }));
  await pass.close();
}

async function measure(ledger: Ledger, waiting: number): Promise<Record<string, number>> {
  const { store } = ledger;
  const last = idOf<SessionId>('ses', FIRST + waiting - 1);
  const submitted: SessionId[] = [];
  const result = {
    'pass, head blocked': await median(() => blockedPass(ledger)),
    'why, of the last': await median(() => store.planning.why(last)),
    'queue, first page': await median(() => store.planning.queue('default', { limit: 50 })),
    'head of the queue': await median(() => store.planning.headText('default')),
    'submit and admit': await median(async () => submitted.push(await submitAndAdmit(ledger))),
    'session list': await median(() => store.sessions.list({ limit: 50 }, ledger.admin)),
  };
  for (const id of submitted) {
    await store.sessions.requestStop({
      sessionId: id,
      cause: 'user-stop',
      actor: 'b',
      message: '',
      graceMs: null,
      force: false,
    });
  }
  return result;
}

/** Places the first 256 who wait, one a node: the commit of a full page. */
async function fullPage({ store }: Ledger): Promise<Record<string, number>> {
  const opened = performance.now();
  const pass = await openPass(store);
  const page = await pass.nextPage();
  const read = performance.now();
  const placed = page.map((session, index) => ({
    sessionId: session.id,
    version: session.version,
    explanation: 'bench',
    kernels: session.kernels.map((kernel) => ({
      kernelId: kernel.id,
      node: `b${String(index + 1).padStart(4, '0')}`,
      deviceIds: Array.from({ length: kernel.slots.gpuCount }, (_, gpu) => `gpu-${gpu}`),
      slots: kernel.slots,
    })),
  }));
  const committed = await pass.commit(emptyPlan(pass, { placed }));
  const done = performance.now();
  await pass.close();
  return { placed: committed.placed.length, 'open and read, ms': read - opened, 'commit, ms': done - read };
}

export async function run(): Promise<Result> {
  const server = await startTestPostgres();
  const ledger = await openLedger({ url: server.url });
  const client = new pg.Client({ connectionString: server.url });
  try {
    await client.connect();
    await fillNodes(client);
    const like = await submitAndAdmit(ledger, {
      kernels: [{ role: 'main', slots: { cpuMilli: 8000, memoryBytes: 2 ** 36, gpuCount: 8 } }],
    });
    await fillQueue(client, like, { from: 0, to: 100 });
    const few = await measure(ledger, 100);
    await fillQueue(client, like, { from: 100, to: 10_000 });
    const many = await measure(ledger, 10_000);
    const pairs = Object.entries(few).map(([name, floor]) => ({ name, floor, measured: many[name] ?? 0, unit: 'ms' }));
    const page = Object.entries(await fullPage(ledger)).map(([name, measured]) =>
      info({ name: `a full page: ${name}`, measured, unit: '' }),
    );
    const notes = ['measured with 10,000 waiting, the floor with 100, on 1,000 nodes of 8 GPUs'];
    return { name: 'store-pass', rows: [...pairs.map((pair) => atMostFloor(pair, { times: 2 })), ...page], notes };
  } finally {
    await client.end();
    await ledger.store.close();
    await server.stop();
  }
}
