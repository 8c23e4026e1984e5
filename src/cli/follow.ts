import type { Session, SessionEvent } from '../contract/index.js';
import type { Client, Frame } from '../sdk/index.js';
import { openProgress, type Progress } from './progress.js';

const HAS_RUN: readonly string[] = ['RUNNING', 'TERMINATING', 'TERMINATED'];
/** After the session's end its last output is still on the way. */
const LAST_OUTPUT_SECONDS_MAX = 15;

export interface Follow {
  readonly client: Client;
  readonly session: string;
  readonly signal: AbortSignal;
}

/**
 * Tells each change on stderr, passes the main kernel's output on, and gives the session as it ended. An abort is
 * thrown: the session goes on without us.
 */
export async function followSession({ client, session, signal }: Follow): Promise<Session> {
  const progress = await openProgress();
  const logs = new AbortController();
  let output: Promise<void> | undefined;
  const startOutput = (): void => {
    output ??= passOutput({ client, session, signal: AbortSignal.any([signal, logs.signal]) });
  };
  try {
    for await (const event of client.sessions.events(session, { signal })) {
      tellEvent(progress, event);
      if (event.kind !== 'state' || event.to === null || !HAS_RUN.includes(event.to)) continue;
      progress.end();
      startOutput();
    }
    const ended = await client.sessions.get(session, { signal });
    if (ended.startedAt !== null) startOutput();
    const timer = setTimeout(() => logs.abort(), LAST_OUTPUT_SECONDS_MAX * 1000);
    await output;
    clearTimeout(timer);
    progress.end();
    return ended;
  } finally {
    logs.abort();
    progress.end();
  }
}

/** `insufficient_capacity · needs 4 CPU; …`, or the new state. */
export function eventText({ kind, from, to, message }: SessionEvent): string {
  const subject = kind === 'state' ? (to ?? '') : kind === 'reason' ? `waiting · ${to ?? from ?? ''}` : kind;
  return [subject, message].filter((part) => part !== '').join(' · ');
}

function tellEvent(progress: Progress, event: SessionEvent): void {
  if (event.kind === 'note') return;
  progress.tell(eventText(event));
}

/** Both streams of the main kernel to ours. An output that breaks off is told, never fatal: the session's end counts. */
async function passOutput({ client, session, signal }: Follow): Promise<void> {
  try {
    for await (const frame of client.sessions.logs(session, { follow: true, signal })) await passFrame(frame);
  } catch (error) {
    if (signal.aborted) return;
    process.stderr.write(`the output broke off: ${error instanceof Error ? error.message : String(error)}\n`);
    process.stderr.write(`hint: berth logs ${session}\n`);
  }
}

/** Waits while the reader of our output is slow. */
export async function passFrame(frame: Frame): Promise<void> {
  if (frame.kind === 'error') process.stderr.write(`${frame.error}\n`);
  if (frame.kind !== 'output') return;
  const stream = frame.stream === 'stdout' ? process.stdout : process.stderr;
  if (!stream.write(frame.data)) await new Promise((resolve) => stream.once('drain', resolve));
}
