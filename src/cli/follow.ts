import type { Session, SessionEvent } from '../contract/index.js';
import type { Client } from '../sdk/index.js';
import { passOutput } from './pass-output.js';
import { openProgress } from './progress.js';

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
  const source = { client, session, signal: AbortSignal.any([signal, logs.signal]) };
  const passed = { stdout: 0, stderr: 0 };
  let output: Promise<boolean> | undefined;
  try {
    let told = '';
    for await (const event of client.sessions.events(session, { signal })) {
      if (event.kind !== 'note') progress.tell(eventText(event.message === told ? { ...event, message: '' } : event));
      told = event.message;
      if (event.kind !== 'state' || event.to !== 'RUNNING') continue;
      progress.end();
      output ??= passOutput(source, passed, 'follow');
    }
    const ended = await client.sessions.get(session, { signal });
    const timer = setTimeout(() => logs.abort(), LAST_OUTPUT_SECONDS_MAX * 1000);
    const isWhole = ended.startedAt === null || (await output) === true;
    if (!isWhole && !(await passOutput(source, passed, 'kept'))) process.stderr.write(`hint: berth logs ${session}\n`);
    clearTimeout(timer);
    progress.end();
    return ended;
  } finally {
    logs.abort();
    progress.end();
  }
}

/** `waiting · insufficient_capacity · needs 4 CPU; …`, the new state, or how far a start is: `pulling IMAGE`. */
export function eventText({ kind, from, to, message }: SessionEvent): string {
  const subjects: Partial<Record<SessionEvent['kind'], string>> = {
    state: to ?? '',
    reason: `waiting · ${to ?? from ?? ''}`,
    progress: message === '' ? (to ?? '') : '',
  };
  return [subjects[kind] ?? kind, message].filter((part) => part !== '').join(' · ');
}
