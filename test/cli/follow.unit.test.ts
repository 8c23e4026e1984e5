import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { followSession } from '../../src/cli/follow.js';
import { untilEndedOrRequeued } from '../../src/cli/until-requeued.js';
import type { Session, SessionEvent } from '../../src/contract/index.js';
import { Client, WaitTimeoutError } from '../../src/sdk/index.js';
import { json, type Reply, type ScriptedServer, scriptedServer, stream } from '../sdk/fake-api.js';

let server: ScriptedServer | undefined;
let out = '';
let told = '';
beforeEach(() => {
  [out, told] = ['', ''];
  vi.spyOn(process.stdout, 'write').mockImplementation(
    (text) => ((out += Buffer.from(text as string).toString()), true),
  );
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => ((told += String(text)), true));
});
afterEach(async () => {
  vi.restoreAllMocks();
  await server?.close();
});

const PREEMPTED: readonly Partial<SessionEvent>[] = [
  { from: null, to: 'PENDING', attempt: 0 },
  { from: 'PENDING', to: 'SCHEDULED', attempt: 1 },
  { from: 'CREATING', to: 'RUNNING', attempt: 1 },
  { from: 'RUNNING', to: 'PREEMPTING', attempt: 1, cause: 'preempted' },
  { from: 'PREEMPTING', to: 'PENDING', attempt: 1, cause: 'preempted' },
];
const FINISHED: readonly Partial<SessionEvent>[] = [
  { from: 'PENDING', to: 'SCHEDULED', attempt: 2 },
  { from: 'CREATING', to: 'RUNNING', attempt: 2 },
  { from: 'TERMINATING', to: 'TERMINATED', attempt: 2, cause: 'completed' },
];

const sse = (events: readonly Partial<SessionEvent>[]): string =>
  events
    .map((event, index) => ({ id: String(index), kind: 'state', cause: '', message: '', ...event }))
    .map((event) => `id: ${event.id}\nevent: state\ndata: ${JSON.stringify(event)}\n\n`)
    .join('');

/** An API whose session is as `session` says, with these events; each attempt writes its number. */
async function clientOf(events: readonly Partial<SessionEvent>[], session: Partial<Session>): Promise<Client> {
  let attempt = 0;
  const reply: Reply = (response, seen) => {
    if (seen.url.includes('/events')) return stream('text/event-stream', sse(events))(response, seen);
    if (!seen.url.includes('/logs')) return json(200, { id: 'ses_1', startedAt: null, ...session })(response, seen);
    attempt += 1;
    const data = Buffer.from(`attempt ${attempt}\n`).toString('base64');
    return stream('application/x-ndjson', `${JSON.stringify({ stream: 'stdout', data })}\n`)(response, seen);
  };
  server = await scriptedServer(reply);
  return new Client({ baseUrl: server.url, token: 'brt_secret' });
}

describe('a session that is preempted', () => {
  test('is followed on through its next attempt, with the output of each', async () => {
    const client = await clientOf([...PREEMPTED, ...FINISHED], { state: 'TERMINATED' });
    const ended = await followSession({ client, session: 'ses_1', signal: new AbortController().signal });
    expect(ended.state).toBe('TERMINATED');
    expect(out).toBe('attempt 1\nattempt 2\n');
    expect(told).toMatch(/attempt 1 was stopped \(preempted\); it waits for its next one, and is followed on/);
  });

  test('is given as it waits again, where following ends there', async () => {
    const client = await clientOf([...PREEMPTED, ...FINISHED], { state: 'PENDING' });
    const signal = new AbortController().signal;
    const waiting = await followSession({ client, session: 'ses_1', signal, endsWhenRequeued: true });
    expect(waiting.state).toBe('PENDING');
    expect(out).toBe('attempt 1\n');
  });
});

test('the output of a program that ended before it was seen to run is told', async () => {
  const short = [
    { from: 'PREPARING', to: 'CREATING', attempt: 1 },
    { from: 'CREATING', to: 'TERMINATING', attempt: 1 },
    { from: 'TERMINATING', to: 'TERMINATED', attempt: 1 },
  ] as const;
  const client = await clientOf(short, { state: 'TERMINATED', exitCode: 0 });
  await followSession({ client, session: 'ses_1', signal: new AbortController().signal });
  expect(out).toBe('attempt 1\n');
});

describe('waiting for an end or a requeue', () => {
  test('ends when the present attempt is stopped for others', async () => {
    const client = await clientOf(PREEMPTED, { state: 'RUNNING', attempt: 1 });
    await expect(untilEndedOrRequeued(client, 'ses_1', 5)).resolves.toMatchObject({ id: 'ses_1' });
  });
  test('ends at once when it has ended', async () => {
    const client = await clientOf([], { state: 'ERROR', attempt: 1 });
    await expect(untilEndedOrRequeued(client, 'ses_1', 5)).resolves.toMatchObject({ state: 'ERROR' });
  });
  test('does not count what happened before', async () => {
    const client = await clientOf(PREEMPTED, { state: 'PENDING', attempt: 1 });
    await expect(untilEndedOrRequeued(client, 'ses_1', 0.3)).rejects.toBeInstanceOf(WaitTimeoutError);
  });
});
