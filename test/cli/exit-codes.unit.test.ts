import { describe, expect, test } from 'vitest';
import { CliError, ExitWith } from '../../src/cli/cli-error.js';
import { reportError } from '../../src/cli/report-error.js';
import { exitCodeOfSession } from '../../src/cli/session-exit.js';
import { PROBLEMS, type Session } from '../../src/contract/index.js';
import { ConnectionError, problemError, WaitTimeoutError } from '../../src/sdk/index.js';

const WANTED: Readonly<Record<keyof typeof PROBLEMS, number>> = {
  invalid_request: 2,
  unauthenticated: 4,
  forbidden: 4,
  quota_exceeded: 6,
  not_found: 3,
  method_not_allowed: 2,
  conflict: 5,
  gone: 3,
  stale: 5,
  too_large: 2,
  unsupported_media: 2,
  idempotency_key_reused: 5,
  never_fits: 6,
  rate_limited: 7,
  internal: 7,
  upstream_failed: 7,
  unavailable: 7,
};

const problem = (code: keyof typeof PROBLEMS) =>
  problemError({ type: 't', detail: 'no', instance: 'req_1', code, errors: [], ...PROBLEMS[code] });

describe('exit code of a problem', () => {
  for (const [code, want] of Object.entries(WANTED)) {
    test(`${code} is ${want}`, () => expect(reportError(problem(code as never)).exitCode).toBe(want));
  }
});

describe('an error is told', () => {
  test('with its pointers and its hint, one a line', () => {
    const errors = [{ pointer: '/kernels/0', message: 'at least 1 millicore' }];
    const error = problemError({ ...problem('invalid_request').problem, errors, hint: 'berth run --cpu 1' });
    expect(reportError(error).text).toBe('error: no\n  /kernels/0: at least 1 millicore\nhint: berth run --cpu 1');
  });
  test('as the problem object, unchanged, for programs', () => {
    const error = problem('never_fits');
    expect(reportError(error).problem).toBe(error.problem);
  });
  const own: readonly (readonly [string, unknown, number])[] = [
    ['no answer', new ConnectionError('http://x', new Error('refused')), 7],
    ['a timeout', new WaitTimeoutError('late'), 124],
    ['a usage error', new CliError('no', 2), 2],
    ['anything else', new Error('no'), 1],
    ['what is no error', 'no', 1],
  ];
  for (const [title, error, want] of own)
    test(`${title}: ${want}`, () => expect(reportError(error).exitCode).toBe(want));
  test("a workload's own code, without a word", () => {
    expect(reportError(new ExitWith(42))).toEqual({ exitCode: 42, text: '', problem: undefined });
  });
});

describe('exit code of a session', () => {
  const ended = (fields: Partial<Session>) =>
    ({ state: 'TERMINATED', result: 'failure', cause: null, exitCode: null, message: null, ...fields }) as Session;
  const rows: readonly (readonly [string, Partial<Session>, number])[] = [
    ['success', { result: 'success', exitCode: 0 }, 0],
    ['its own code', { cause: 'user-failure', exitCode: 7 }, 7],
    ['a stopped one', { result: 'stopped', exitCode: 143 }, 143],
    ['bad image', { state: 'ERROR', cause: 'bad-image' }, 125],
    ['a lost node', { state: 'ERROR', cause: 'node-lost', result: 'platform-failure' }, 125],
    ['no such command', { state: 'ERROR', cause: 'bad-command', message: 'not found' }, 127],
    ['a command that may not run', { state: 'ERROR', cause: 'bad-command', message: 'Permission denied' }, 126],
    ['preempted, and waiting again', { state: 'PENDING', result: 'none' }, 75],
    ['cancelled before it ran', { state: 'CANCELLED', result: 'cancelled' }, 1],
  ];
  for (const [title, fields, want] of rows)
    test(`${title}: ${want}`, () => expect(exitCodeOfSession(ended(fields))).toBe(want));
});
