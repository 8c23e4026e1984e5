import type { Problem, ProblemCode } from '../contract/index.js';
import { PROBLEMS } from '../contract/index.js';
import { type ProblemError, problemError } from './problem-error.js';

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const asText = (value: unknown, otherwise: string): string => (typeof value === 'string' ? value : otherwise);

/** The nearest code for an answer that is no problem object: a proxy's page, or another server. */
function codeOfStatus(status: number): ProblemCode {
  const known = Object.entries(PROBLEMS).find(([, problem]) => problem.status === status);
  if (known !== undefined) return known[0] as ProblemCode;
  if (status === 504) return 'upstream_failed';
  return status >= 500 ? 'internal' : 'invalid_request';
}

/** Reads an answer that is not a success into the error to throw. Unknown fields of the problem are kept. */
export async function errorOf(response: Response): Promise<ProblemError> {
  const text = await response.text().catch(() => '');
  const parsed = parse(text);
  const given = isRecord(parsed) ? parsed : {};
  const code = asText(given['code'], codeOfStatus(response.status)) as ProblemCode;
  const problem = {
    ...given,
    type: asText(given['type'], 'about:blank'),
    title: asText(given['title'], response.statusText),
    status: response.status,
    detail: asText(given['detail'], `answer ${response.status}${text === '' ? '' : `: ${text.slice(0, 200).trim()}`}`),
    instance: asText(given['instance'], response.headers.get('x-request-id') ?? ''),
    code,
    errors: Array.isArray(given['errors']) ? (given['errors'] as Problem['errors']) : [],
  } satisfies Problem;
  return problemError(problem);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
