import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { compile, type Sql, sql } from './sql.js';

/** The part of a logger that the store uses. */
export interface StoreLogger {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}

/** Runs statements, in a transaction or each on its own. */
export interface Runner {
  rows<Row>(statement: Sql): Promise<Row[]>;
  first<Row>(statement: Sql): Promise<Row | undefined>;
  /** How many rows it touched. */
  run(statement: Sql): Promise<number>;
}
/** One connection of its own: session-level locks live and die with it. */
export interface Connection extends Runner {
  transaction<Result>(work: (tx: Runner) => Promise<Result>, mode?: 'snapshot'): Promise<Result>;
  /** `broken` ends the connection, and with it every lock that it has. */
  release(broken?: boolean): void;
}
export interface Database extends Runner {
  readonly pool: pg.Pool;
  readonly logger: StoreLogger;
  /** Retried on a deadlock or a serialization failure, so `work` must do nothing outside the transaction. `snapshot`: one consistent view, read only. */
  transaction<Result>(work: (tx: Runner) => Promise<Result>, mode?: 'snapshot'): Promise<Result>;
  connect(): Promise<Connection>;
}

/** 8-byte integers and sums come as numbers (amounts are below 2^53); times as RFC 3339 text in UTC. */
const PARSERS: Readonly<Record<number, (text: string) => unknown>> = {
  20: Number,
  1700: Number,
  1184: (text) => new Date(text).toISOString(),
};
const types = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    PARSERS[oid] ??
    (pg.types.getTypeParser as (oid: number, format?: string) => (text: string) => unknown)(oid, format),
};

/** Texts hold no values, so there are some hundreds; what is built beyond that is planned at each call, as ever. */
const PREPARED_MAX = 1000;
const names = new Map<string, string>();

/** Named, so that a connection parses and plans each text once: half of Postgres's work for a session (docs/benchmarks.md). */
function prepared(statement: Sql): { text: string; values: unknown[]; name?: string } {
  const compiled = compile(statement);
  const known = names.get(compiled.text);
  if (known !== undefined) return { ...compiled, name: known };
  if (names.size >= PREPARED_MAX) return compiled;
  const name = `berth_${names.size}`;
  names.set(compiled.text, name);
  return { ...compiled, name };
}

const runnerOf = (client: pg.Pool | pg.ClientBase): Runner => ({
  rows: async <Row>(statement: Sql) => (await client.query(prepared(statement))).rows as Row[],
  first: async <Row>(statement: Sql) => (await client.query(prepared(statement))).rows[0] as Row | undefined,
  run: async (statement: Sql) => (await client.query(prepared(statement))).rowCount ?? 0,
});

/** `40P01` deadlock, `40001` serialization failure: the loser of two transactions, to be run again. */
const RETRIED = new Set(['40P01', '40001']);
const ATTEMPTS = 6;
export const codeOf = (error: unknown): string | undefined =>
  error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : undefined;

async function retried<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === ATTEMPTS || !RETRIED.has(codeOf(error) ?? '')) throw error;
      await delay(5 * 2 ** attempt * (0.5 + Math.random()));
    }
  }
}

async function inTransaction<Result>(
  client: pg.ClientBase,
  work: (tx: Runner) => Promise<Result>,
  mode: 'snapshot' | undefined,
): Promise<Result> {
  await client.query(mode === 'snapshot' ? 'BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY' : 'BEGIN');
  try {
    const result = await work(runnerOf(client));
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

function connectionOf(client: pg.PoolClient): Connection {
  const onError = () => undefined; // a lost connection is told by the statement that meets it
  client.on('error', onError);
  return {
    ...runnerOf(client),
    transaction: (work, mode) => retried(() => inTransaction(client, work, mode)),
    release: (broken) => {
      client.off('error', onError);
      client.release(broken);
    },
  };
}

export interface DatabaseOptions {
  readonly connectionString: string;
  readonly poolSize?: number | undefined;
  readonly logger?: StoreLogger | undefined;
}

/** No statement and no forgotten transaction may hold a lock for long. */
const LIMITS = [
  'statement_timeout=20000',
  'lock_timeout=8000',
  'idle_in_transaction_session_timeout=20000',
  'timezone=UTC',
];

export function openDatabase({ connectionString, poolSize = 10, logger }: DatabaseOptions): Database {
  const log: StoreLogger = logger ?? { warn: () => undefined };
  const pool = new pg.Pool({
    connectionString,
    max: poolSize,
    types,
    application_name: 'berth',
    options: LIMITS.map((limit) => `-c ${limit}`).join(' '),
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
  });
  // Without a listener an idle connection's end would end the process.
  pool.on('error', (error) => log.warn({ error: error.message }, 'an idle connection to Postgres ended'));
  const connect = async () => connectionOf(await pool.connect());
  return {
    ...runnerOf(pool),
    pool,
    logger: log,
    connect,
    transaction: async (work, mode) => {
      const connection = await connect();
      try {
        const result = await connection.transaction(work, mode);
        connection.release();
        return result;
      } catch (error) {
        connection.release(codeOf(error) === undefined || codeOf(error)?.startsWith('57') === true);
        throw error;
      }
    },
  };
}

/** The same key for everybody who means `name`; session-level, so it ends with its connection. */
export const advisoryKey = (name: string): Sql => sql`hashtextextended(${name}, 0)`;
