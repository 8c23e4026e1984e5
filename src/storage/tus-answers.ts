import type { ServerResponse } from 'node:http';
import { PROBLEM_TYPE, ProblemError, problem } from '../api/problem.js';
import type { ProblemCode } from '../contract/index.js';
import { refusalOf } from './refusal-of.js';

interface TusError {
  readonly status_code: number;
  readonly body: string;
}

const BY_STATUS: Readonly<Record<number, ProblemCode>> = {
  400: 'invalid_request',
  403: 'invalid_request',
  404: 'not_found',
  409: 'conflict',
  410: 'gone',
  413: 'too_large',
};

/** tus has its own words and statuses: ours are the problem's of the same meaning. What is not tus's is a refusal or a file's error. */
export function asTusError(error: Error | TusError): TusError {
  const known = 'status_code' in error ? BY_STATUS[error.status_code] : undefined;
  if ('body' in error && error.body.startsWith('{')) return error; // a problem already
  const told = known !== undefined && 'body' in error ? problem(known, error.body.trim()) : error;
  const { status, body } = refusalOf(told instanceof ProblemError || told instanceof Error ? told : null);
  return { status_code: status, body };
}

/** tus answers errors as plain text: their bodies are problems already, and here they get the type, and a 503 its Retry-After. */
export function answerProblems(response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (
    status: number,
    text: string,
    headers: string[],
  ) => ServerResponse;
  response.writeHead = ((status: number, text: string, headers: string[]) => {
    if (status < 400) return writeHead(status, text, headers);
    const kept = headers.flatMap((name, index) => {
      const value = headers[index + 1];
      return index % 2 === 1 || value === undefined || name.toLowerCase() === 'content-type' ? [] : [name, value];
    });
    const more = status === 503 ? ['retry-after', '60'] : [];
    return writeHead(status, text, [...kept, 'content-type', PROBLEM_TYPE, ...more]);
  }) as ServerResponse['writeHead'];
}
