import type { Session, SessionEvent } from '../contract/index.js';
import type { Client } from '../sdk/index.js';
import { type Passed, passOutput } from './pass-output.js';
import { openProgress } from './progress.js';

/** After the end of a session, or of an attempt, its last output is still on the way. */
const LAST_OUTPUT_SECONDS_MAX = 15;

export interface Follow {
  readonly client: Client;
  readonly session: string;
  readonly signal: AbortSignal;
  /** Give it as it is when it was preempted and waits again; else following goes on through all its attempts. */
  readonly endsWhenRequeued?: boolean;
}

/** The output of one attempt on its way to ours. */
interface Passing {
  readonly passed: Passed;
  readonly isWhole: Promise<boolean>;
  readonly stop: () => void;
}

/**
 * Tells each change on stderr, passes the main kernel's output on, attempt by attempt, and gives the session as it ended.
 * An abort is thrown: the session goes on without us.
 */
export async function followSession(follow: Follow): Promise<Session> {
  const { client, session, signal, endsWhenRequeued = false } = follow;
  const progress = await openProgress();
  let output: Passing | undefined;
  try {
    let told = '';
    for await (const event of client.sessions.events(session, { signal })) {
      if (event.kind !== 'note') progress.tell(eventText(event.message === told ? { ...event, message: '' } : event));
      told = event.message;
      if (event.kind !== 'state') continue;
      if (event.to === 'RUNNING') {
        progress.end();
        output ??= passingOf(follow);
      }
      if (!isAgain(event)) continue;
      await lastOf(output);
      output = undefined;
      if (endsWhenRequeued && isRequeue(event)) break;
      progress.end(againText(event));
    }
    const ended = await client.sessions.get(session, { signal });
    // A program that ended before anybody saw it run has an exit code, and what it wrote.
    if (typeof ended.exitCode === 'number') output ??= passingOf(follow);
    if (output !== undefined) await passRest(follow, output);
    return ended;
  } finally {
    output?.stop();
    progress.end();
  }
}

function passingOf({ client, session, signal }: Follow): Passing {
  const logs = new AbortController();
  const passed = { stdout: 0, stderr: 0 };
  const source = { client, session, signal: AbortSignal.any([signal, logs.signal]) };
  return { passed, isWhole: passOutput(source, passed, 'follow'), stop: () => logs.abort() };
}

/** Waits for what an attempt that is over still has to say; false when it broke off or took too long. */
async function lastOf(output: Passing | undefined): Promise<boolean> {
  if (output === undefined) return true;
  const timer = setTimeout(output.stop, LAST_OUTPUT_SECONDS_MAX * 1000);
  const isWhole = await output.isWhole;
  clearTimeout(timer);
  return isWhole;
}

/** Where the output broke off, the rest is read from what the node kept. */
async function passRest({ client, session, signal }: Follow, output: Passing): Promise<void> {
  if (await lastOf(output)) return;
  const source = {
    client,
    session,
    signal: AbortSignal.any([signal, AbortSignal.timeout(LAST_OUTPUT_SECONDS_MAX * 1000)]),
  };
  if (!(await passOutput(source, output.passed, 'kept'))) process.stderr.write(`hint: berth logs ${session}\n`);
}

/** It waits again: stopped for others or by a drain, or after a failure of the platform. */
export const isAgain = ({ kind, from, to }: SessionEvent): boolean =>
  kind === 'state' && to === 'PENDING' && from !== null;

/** It was stopped for others, or by a drain: that is no failure, and no end. */
export const isRequeue = (event: SessionEvent): boolean =>
  isAgain(event) && (event.from === 'PREEMPTING' || event.cause === 'preempted' || event.cause === 'drained');

export const againText = (event: SessionEvent): string =>
  isRequeue(event)
    ? `attempt ${event.attempt} was stopped (${event.cause}); it waits for its next one, and is followed on`
    : `attempt ${event.attempt} failed (${event.cause}), by no fault of yours; it is tried again, and followed on`;

/** `waiting · insufficient_capacity · needs 4 CPU; …`, the new state, or how far a start is: `pulling IMAGE`. */
export function eventText({ kind, from, to, message }: SessionEvent): string {
  const subjects: Partial<Record<SessionEvent['kind'], string>> = {
    state: to ?? '',
    reason: `waiting · ${to ?? from ?? ''}`,
    progress: message === '' ? (to ?? '') : '',
  };
  return [subjects[kind] ?? kind, message].filter((part) => part !== '').join(' · ');
}
