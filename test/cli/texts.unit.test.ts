import { describe, expect, test } from 'vitest';
import { eventText } from '../../src/cli/follow.js';
import { passFrames } from '../../src/cli/pass-output.js';
import { reportError } from '../../src/cli/report-error.js';
import { whyText } from '../../src/cli/why-text.js';
import { PROBLEMS, type SessionEvent, type Why } from '../../src/contract/index.js';
import { type Frame, problemError } from '../../src/sdk/index.js';

const event = (of: Partial<SessionEvent>): SessionEvent =>
  ({ from: null, to: null, message: '', ...of }) as SessionEvent;

describe('a change is told', () => {
  const cases: readonly (readonly [Partial<SessionEvent>, string])[] = [
    [{ kind: 'state', to: 'RUNNING' }, 'RUNNING'],
    [{ kind: 'reason', to: 'user_quota', message: 'over by 1 GPU' }, 'waiting · user_quota · over by 1 GPU'],
    [{ kind: 'progress', to: 'pulling_image', message: 'pulling x:1' }, 'pulling x:1'],
    [{ kind: 'progress', to: 'pulling_image' }, 'pulling_image'],
  ];
  for (const [given, text] of cases) test(text, () => expect(eventText(event(given))).toBe(text));
});

test('a single violation is told once', () => {
  const errors = [{ pointer: '/name', message: 'at most 63 characters' }];
  const given = {
    type: 't',
    detail: '/name at most 63 characters',
    instance: '',
    code: 'invalid_request',
    errors,
  } as const;
  expect(reportError(problemError({ ...given, ...PROBLEMS.invalid_request })).text).toBe(
    'error: /name at most 63 characters',
  );
});

describe('why is told', () => {
  const why = {
    state: 'PENDING',
    reason: 'user_quota',
    since: '2026-01-01T00:00:00.000Z',
    message: 'over',
    blockers: [
      { kind: 'quota', scope: 'user', name: 'ada', resource: 'cpuMilli', need: 500, used: 1000, limit: 1200 },
      { kind: 'node', scope: 'node', name: 'n1', resource: null, need: null, used: null, limit: null },
    ],
    queue: null,
    nodes: null,
    nearest: null,
    reservedNodes: [],
    history: [],
    eta: null,
    etaUnknownBecause: null,
    actions: [],
  } as unknown as Why;
  const now = new Date('2026-01-01T00:00:09.000Z');
  test('in units that people use', () => {
    expect(whyText(why, now)).toBe(
      'PENDING for 9s: user_quota\n  over\n  quota of user ada: needs 0.5 CPU, 1 of 1.2 used\n  node n1',
    );
  });
  test('of an ended session: how long ago', () => {
    expect(whyText({ ...why, state: 'TERMINATED', reason: null, blockers: [] }, now)).toBe('TERMINATED 9s ago\n  over');
  });
});

test('output that broke off: what was passed is skipped when it is read again', async () => {
  const output = (text: string): Frame => ({ kind: 'output', stream: 'stdout', data: Buffer.from(text) });
  const framesOf = async function* (...frames: readonly Frame[]): AsyncGenerator<Frame> {
    yield* frames;
  };
  const passed = { stdout: 0, stderr: 0 };
  expect(await passFrames(framesOf(output('ab'), { kind: 'error', error: 'removed' }), passed)).toBe('removed');
  expect(passed.stdout).toBe(2);
  expect(await passFrames(framesOf(output('a'), output('bc')), passed)).toBeUndefined();
  expect(passed.stdout).toBe(3);
});
