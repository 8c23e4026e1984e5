import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';

/** What a client of OpenAI's protocol is told; `reason` and what follows are Berth's own. */
export interface OpenAiError {
  readonly status: number;
  readonly code: string;
  readonly type: ErrorType;
  readonly message: string;
  readonly param?: string;
  /** Why the model does not serve: the reason's code, and its words. */
  readonly reason?: string;
  readonly reasonMessage?: string | null;
  readonly retryAfterSeconds?: number;
  /** Clients of OpenAI obey it; unset, they go by the status. */
  readonly shouldRetry?: boolean;
  readonly headers?: Readonly<Record<string, string>>;
}

export type ErrorType =
  | 'invalid_request_error'
  | 'authentication_error'
  | 'permission_error'
  | 'rate_limit_error'
  | 'service_unavailable_error'
  | 'server_error';

/** `{"error":{"message","type","param","code", …}}`. */
export function errorText(error: OpenAiError, requestId: string): string {
  const { message, type, param = null, code, reason, reasonMessage, retryAfterSeconds } = error;
  return JSON.stringify({
    error: {
      ...{ message, type, param, code },
      ...(reason === undefined ? {} : { reason: { code: reason, message: reasonMessage ?? null } }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      requestId,
    },
  });
}

export function errorHeaders(error: OpenAiError, requestId: string): OutgoingHttpHeaders {
  return {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-request-id': requestId,
    ...(error.retryAfterSeconds === undefined ? {} : { 'retry-after': String(error.retryAfterSeconds) }),
    ...(error.shouldRetry === undefined ? {} : { 'x-should-retry': String(error.shouldRetry) }),
    ...error.headers,
  };
}

/** Head and body in one; the answer must not have begun. */
export function sendError(response: ServerResponse, error: OpenAiError, requestId: string): void {
  const body = errorText(error, requestId);
  const length = { 'content-length': String(Buffer.byteLength(body)) };
  response.writeHead(error.status, { ...errorHeaders(error, requestId), ...length }).end(body);
}

/** The last event of a stream that broke. */
export const errorEvent = (error: OpenAiError, requestId: string): string => `data: ${errorText(error, requestId)}\n\n`;
