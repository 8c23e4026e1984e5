/** What Node, Postgres and gRPC call it when the other side is away, starting, stopping or full. */
const AWAY_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ETIMEDOUT',
  'EPIPE',
  'ENOENT',
  '53300',
  '57P01',
  '57P02',
  '57P03',
  '08000',
  '08001',
  '08003',
  '08006',
  '40001',
  '40P01',
  4,
  14,
]);
const AWAY_WORDS =
  /connection terminated|timeout exceeded when trying to connect|connection timeout|client has encountered a connection error|not queryable|failed to connect|deadline exceeded|pool (is|has been) (ended|destroyed)|driver has already been destroyed/i;
const DEPTH_MAX = 8;

/** True when a part behind the API was not reachable: the same request may succeed soon. */
export function isOutage(error: unknown): boolean {
  let current = error;
  for (let depth = 0; depth < DEPTH_MAX && current instanceof Error; depth += 1) {
    if ('code' in current && AWAY_CODES.has(current.code)) return true;
    if (AWAY_WORDS.test(current.message)) return true;
    if (current instanceof AggregateError && current.errors.some(isOutage)) return true;
    current = current.cause;
  }
  return false;
}

/** SQLSTATE class 22: a value that Postgres cannot hold. The schemas should have refused it. */
export function isDataException(error: unknown): boolean {
  return (
    error instanceof Error && 'code' in error && typeof error.code === 'string' && /^22[0-9A-Z]{3}$/.test(error.code)
  );
}
