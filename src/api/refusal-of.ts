import type { FastifyError, FastifyRequest } from 'fastify';
import type { ProblemCode, Refusal } from '../contract/index.js';
import { isDataException, isOutage } from './outage.js';
import { ProblemError } from './problem.js';

const BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  404: 'not_found',
  405: 'method_not_allowed',
  413: 'too_large',
  415: 'unsupported_media',
  429: 'rate_limited',
};

function ofFastify(error: FastifyError, request: FastifyRequest): Refusal {
  const code = BY_STATUS[error.statusCode ?? 400] ?? 'invalid_request';
  if (code === 'too_large') return { code, detail: `the body is larger than ${request.routeOptions.bodyLimit} bytes` };
  if (code === 'unsupported_media') return { code, detail: 'send application/json' };
  if (code === 'not_found') return { code, detail: 'there is no such path' };
  return { code, detail: error.message, errors: [{ pointer: '', message: error.message }] };
}

const isFastifyError = (error: unknown): error is FastifyError =>
  error instanceof Error && 'statusCode' in error && typeof error.statusCode === 'number';

/** What to tell the caller of an error. `internal` is what nobody foresaw: its cause stays in the log. */
export function refusalOf(error: unknown, request: FastifyRequest): Refusal {
  if (error instanceof ProblemError) return error.refusal;
  if (isOutage(error)) return { code: 'unavailable', detail: 'a part of Berth is not reachable now; try again' };
  if (isDataException(error)) return { code: 'invalid_request', detail: 'a value cannot be stored' };
  if (isFastifyError(error) && (error.statusCode ?? 500) < 500) return ofFastify(error, request);
  return { code: 'internal', detail: `this is a fault of Berth's; its log has more under ${request.id}` };
}
