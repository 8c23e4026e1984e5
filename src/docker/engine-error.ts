/** What can be told of whatever dockerode threw: status and message of the engine, or the code of a broken connection. */
export interface EngineError {
  readonly statusCode: number | undefined;
  readonly text: string;
  /** Set when the engine was not reached or went away in the middle of an answer. */
  readonly code: string | undefined;
}

const CONNECTION_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EACCES',
  'EPIPE',
  'ENOTFOUND',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'EAI_AGAIN',
  'ERR_STREAM_PREMATURE_CLOSE',
]);

export function readEngineError(error: unknown): EngineError {
  if (!(error instanceof Error)) return { statusCode: undefined, text: String(error), code: undefined };
  const statusCode = numberField(error, 'statusCode');
  const code = stringField(error, 'code');
  const lost = statusCode === undefined && code !== undefined && CONNECTION_CODES.has(code);
  return { statusCode, text: engineMessage(error), code: lost ? code : undefined };
}

/** True for the status codes that dockerode turns into errors although the thing asked for is already so. */
export function hasStatus(error: unknown, ...statusCodes: readonly number[]): boolean {
  const { statusCode } = readEngineError(error);
  return statusCode !== undefined && statusCodes.includes(statusCode);
}

/** dockerode wraps the engine's message as "(HTTP code N) reason - message "; streams carry it as JSON text. */
function engineMessage(error: Error): string {
  const json: unknown = (error as { json?: unknown }).json;
  if (json !== null && typeof json === 'object' && 'message' in json && typeof json.message === 'string') {
    return json.message;
  }
  return error.message.replace(/^\(HTTP code \d+\) .*? - /, '');
}

function numberField(error: Error, field: string): number | undefined {
  const value: unknown = (error as unknown as Record<string, unknown>)[field];
  return typeof value === 'number' ? value : undefined;
}

function stringField(error: Error, field: string): string | undefined {
  const value: unknown = (error as unknown as Record<string, unknown>)[field];
  return typeof value === 'string' ? value : undefined;
}
