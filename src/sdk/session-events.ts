import type { SessionEvent } from '../contract/index.js';
import { messagesOf } from './event-stream.js';
import { sleep, type Transport } from './transport.js';

const ENDED: readonly string[] = ['TERMINATED', 'CANCELLED', 'ERROR'];
const RECONNECT_MILLISECONDS = 500;
/** Connections in a row that bring no event before the state is asked for. */
const SILENT_CONNECTIONS_MAX = 1;

export interface EventsOptions {
  readonly signal?: AbortSignal | undefined;
  /** Id of the last event that was seen: the next one is the first to come. All of them when omitted. */
  readonly after?: string | undefined;
}

/**
 * A session's events in order, each once, until its last one. A connection that breaks is opened again with
 * Last-Event-ID; the server's word on the pause is kept.
 */
export async function* sessionEvents(
  transport: Transport,
  session: string,
  options: EventsOptions = {},
): AsyncGenerator<SessionEvent, void, undefined> {
  const { signal } = options;
  let last = options.after;
  let pauseMilliseconds = RECONNECT_MILLISECONDS;
  for (let silent = 0; ; ) {
    let didEnd = false;
    const before = last;
    try {
      const headers: Record<string, string> = { accept: 'text/event-stream' };
      if (last !== undefined) headers['last-event-id'] = last;
      const response = await transport.stream('sessionEvents', { params: { session } }, { signal, headers });
      const onRetry = (milliseconds: number): void => void (pauseMilliseconds = milliseconds);
      for await (const message of response.body === null ? [] : messagesOf(response.body, onRetry)) {
        if (message.data === '') continue;
        const event = JSON.parse(message.data) as SessionEvent;
        last = message.id ?? event.id;
        yield event;
        didEnd ||= event.kind === 'state' && event.to !== null && ENDED.includes(event.to);
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!isBrokenStream(error)) throw error;
    }
    if (didEnd) return;
    silent = last === before ? silent + 1 : 0;
    if (silent > SILENT_CONNECTIONS_MAX && (await hasEnded(transport, session, signal))) return;
    await sleep(pauseMilliseconds, signal);
  }
}

/** fetch throws a TypeError ("terminated") when a body breaks off in the middle. */
const isBrokenStream = (error: unknown): boolean => error instanceof TypeError;

async function hasEnded(transport: Transport, session: string, signal: AbortSignal | undefined): Promise<boolean> {
  const { state } = await transport.call('getSession', { params: { session } }, { signal });
  return ENDED.includes(state);
}
