import pg from 'pg';
import type { SessionId, StopOrder } from '../../src/contract/index.js';
import { emptyPlan, type Ledger, openPass, placeAll } from './ledger.js';

/** Straight on the database: for moments that no store writes, and for what no answer shows. */
export async function query<Row extends object>(ledger: Ledger, text: string, values: unknown[] = []): Promise<Row[]> {
  const client = new pg.Client({ connectionString: ledger.url });
  await client.connect();
  try {
    return (await client.query<Row>(text, values)).rows;
  } finally {
    await client.end();
  }
}

interface SessionFacts {
  readonly version: number;
  readonly attempt: number;
  readonly priority: number;
  readonly retry_at: Date | null;
  readonly avoid_nodes: readonly string[];
  readonly gone_by: Date | null;
  readonly failed_attempts: number;
}
export async function rowOf(ledger: Ledger, sessionId: SessionId): Promise<SessionFacts> {
  const [row] = await query<SessionFacts>(ledger, 'SELECT * FROM sessions WHERE id = $1', [sessionId]);
  if (row === undefined) throw new Error('no such session');
  return row;
}

/** RUNNING → PREEMPTING by the commit of a plan that orders it. */
export async function preempt(ledger: Ledger, sessionId: SessionId, change: Partial<StopOrder> = {}): Promise<void> {
  const { version, attempt } = await rowOf(ledger, sessionId);
  const stop: StopOrder = {
    sessionId,
    version,
    attempt,
    cause: 'preempted',
    forSessionId: null,
    then: 'requeue',
    graceSeconds: 10,
    breaksMinRuntime: false,
    message: 'another needs its room',
    ...change,
  };
  const pass = await openPass(ledger.store);
  try {
    const committed = await pass.commit(emptyPlan(pass, { stops: [stop] }));
    if (committed.signals.length !== 1) throw new Error('it was not stopped');
  } finally {
    await pass.close();
  }
}

/** Places whoever waits, and takes the session to RUNNING at this attempt. */
export async function runAgain({ store }: Ledger, sessionId: SessionId, attempt: number, node = 'n1'): Promise<void> {
  await placeAll(store, node);
  const begun = await store.sessions.begin(sessionId, attempt);
  if (begun.outcome !== 'go') throw new Error(`it was not begun: ${begun.outcome}`);
  await store.sessions.markRunning(sessionId, attempt);
}

/** What the reservations of the session were charged, by attempt. */
export const charges = async (ledger: Ledger, sessionId: SessionId): Promise<[attempt: number, charged: boolean][]> =>
  (
    await query<{ attempt: number; charged: boolean }>(
      ledger,
      'SELECT attempt, bool_and(charged) AS charged FROM reservations WHERE session_id = $1 GROUP BY attempt ORDER BY attempt',
      [sessionId],
    )
  ).map(({ attempt, charged }) => [attempt, charged]);

/** Runs it twice: the second answer must be the first. */
export async function twice<Result>(
  work: () => Promise<Result>,
  same: (one: Result, other: Result) => void,
): Promise<Result> {
  const first = await work();
  same(await work(), first);
  return first;
}
