import type { Problem, ProblemCode } from '../contract/index.js';

/**
 * An answer of Berth that says no (RFC 9457). React to `code`, or to the class; `detail` says the numbers and
 * `hint` is a command that helps. `problem` is the answer unchanged, with fields that this version does not know.
 */
export class ProblemError extends Error {
  override readonly name: string = 'ProblemError';
  readonly problem: Problem;
  /** A code of a newer server is kept as it came. */
  readonly code: ProblemCode;
  readonly status: number;
  readonly detail: string;
  readonly errors: Problem['errors'];
  readonly hint: string | undefined;
  readonly retryAfterSeconds: number | undefined;
  readonly requestId: string;
  constructor(problem: Problem) {
    super(problem.detail);
    this.problem = problem;
    this.code = problem.code;
    this.status = problem.status;
    this.detail = problem.detail;
    this.errors = problem.errors;
    this.hint = problem.hint;
    this.retryAfterSeconds = problem.retryAfterSeconds;
    this.requestId = problem.instance;
  }
}

export class InvalidRequestError extends ProblemError {
  override readonly name = 'InvalidRequestError';
}
export class UnauthenticatedError extends ProblemError {
  override readonly name = 'UnauthenticatedError';
}
export class ForbiddenError extends ProblemError {
  override readonly name = 'ForbiddenError';
}
/** The quota can never admit the request: one that only has to wait is accepted. */
export class QuotaExceededError extends ProblemError {
  override readonly name = 'QuotaExceededError';
}
export class NotFoundError extends ProblemError {
  override readonly name = 'NotFoundError';
}
export class MethodNotAllowedError extends ProblemError {
  override readonly name = 'MethodNotAllowedError';
}
export class ConflictError extends ProblemError {
  override readonly name = 'ConflictError';
}
export class GoneError extends ProblemError {
  override readonly name = 'GoneError';
}
/** The object changed since its ETag was read: read it again. */
export class StaleError extends ProblemError {
  override readonly name = 'StaleError';
}
export class TooLargeError extends ProblemError {
  override readonly name = 'TooLargeError';
}
export class UnsupportedMediaError extends ProblemError {
  override readonly name = 'UnsupportedMediaError';
}
export class IdempotencyKeyReusedError extends ProblemError {
  override readonly name = 'IdempotencyKeyReusedError';
}
export class NeverFitsError extends ProblemError {
  override readonly name = 'NeverFitsError';
}
export class RateLimitedError extends ProblemError {
  override readonly name = 'RateLimitedError';
}
export class InternalError extends ProblemError {
  override readonly name = 'InternalError';
}
export class UpstreamFailedError extends ProblemError {
  override readonly name = 'UpstreamFailedError';
}
export class UnavailableError extends ProblemError {
  override readonly name = 'UnavailableError';
}

const CLASS_OF = {
  invalid_request: InvalidRequestError,
  unauthenticated: UnauthenticatedError,
  forbidden: ForbiddenError,
  quota_exceeded: QuotaExceededError,
  not_found: NotFoundError,
  method_not_allowed: MethodNotAllowedError,
  conflict: ConflictError,
  gone: GoneError,
  stale: StaleError,
  too_large: TooLargeError,
  unsupported_media: UnsupportedMediaError,
  idempotency_key_reused: IdempotencyKeyReusedError,
  never_fits: NeverFitsError,
  rate_limited: RateLimitedError,
  internal: InternalError,
  upstream_failed: UpstreamFailedError,
  unavailable: UnavailableError,
} as const satisfies Record<ProblemCode, new (problem: Problem) => ProblemError>;

export function problemError(problem: Problem): ProblemError {
  const ErrorClass: new (problem: Problem) => ProblemError = Object.hasOwn(CLASS_OF, problem.code)
    ? CLASS_OF[problem.code]
    : ProblemError;
  return new ErrorClass(problem);
}

/** No answer came: the network, the name, the connection, or the time for one try. Why stands in `cause`. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
  /** Without path and query. */
  readonly origin: string;
  constructor(origin: string, cause: unknown) {
    super(`no answer from ${origin}: ${reasonOf(cause)}`, { cause });
    this.origin = origin;
  }
}

/** What arrived is not what was sent: the checksum differs, or the stream broke off. */
export class TransferError extends Error {
  override readonly name = 'TransferError';
}

/** The moment that was waited for did not come in time. */
export class WaitTimeoutError extends Error {
  override readonly name = 'WaitTimeoutError';
}

/** fetch says "fetch failed" and keeps the reason inside; the innermost one is told. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0]);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
