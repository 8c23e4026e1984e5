import { PROBLEMS, type Problem, type ProblemCode, type Refusal } from '../contract/index.js';

export const PROBLEM_TYPE = 'application/problem+json';
/** Said when nobody knows better: a client that obeys it does no harm. */
const RETRY_AFTER_SECONDS = 2;

/** Thrown by handlers for what they refuse; the server answers it as problem+json. */
export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly refusal: Refusal;
  readonly headers: Readonly<Record<string, string>>;
  constructor(refusal: Refusal, options: { readonly cause?: unknown; readonly headers?: Record<string, string> } = {}) {
    super(refusal.detail, { cause: options.cause });
    this.refusal = refusal;
    this.headers = options.headers ?? {};
  }
}

export const problem = (code: ProblemCode, detail: string, more: Partial<Refusal> = {}): ProblemError =>
  new ProblemError({ ...more, code, detail });

/** The same words for what is not there and for what the caller may not see. */
export const notFound = (what: string): ProblemError => problem('not_found', `there is no ${what} that you may see`);

export const invalid = (pointer: string, message: string): ProblemError =>
  problem('invalid_request', pointer === '' ? message : `${pointer}: ${message}`, { errors: [{ pointer, message }] });

/** The value, or a 404 that names what was asked for. */
export function found<T>(value: T | null | undefined, what: string): T {
  if (value === null || value === undefined) throw notFound(what);
  return value;
}

const mustSayWhen = (code: ProblemCode): boolean => code === 'rate_limited' || code === 'unavailable';

export function toProblem(refusal: Refusal, requestId: string): Problem {
  const { code } = refusal;
  const retryAfterSeconds = refusal.retryAfterSeconds ?? (mustSayWhen(code) ? RETRY_AFTER_SECONDS : undefined);
  return {
    type: `/docs/errors#${code}`,
    title: PROBLEMS[code].title,
    status: PROBLEMS[code].status,
    detail: refusal.detail,
    instance: requestId,
    code,
    errors: [...(refusal.errors ?? [])],
    ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
    ...(refusal.hint === undefined ? {} : { hint: refusal.hint }),
  };
}
