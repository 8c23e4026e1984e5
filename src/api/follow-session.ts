import type { Session, SessionEvent, SessionState } from '../contract/index.js';
import { isEnded } from '../lifecycle/session-states.js';
import type { ApiDeps } from './deps.js';
import type { SseStream } from './sse.js';
import { REREAD_MS } from './wait-for.js';

const PAGE = 200;
type Parts = Pick<ApiDeps, 'store' | 'feed'>;

const isFinal = ({ kind, to }: SessionEvent): boolean => kind === 'state' && to !== null && isEnded(to as SessionState);

/**
 * Whether `after` already lies at or behind the last change of state: then nothing more comes, and a client that
 * resumed after the end is told so by the end of its stream.
 */
async function isPastEnd({ store }: Parts, id: Session['id'], after: string | null): Promise<boolean> {
  if (after === null) return false;
  let cursor: string | null = null;
  for (;;) {
    const page = await store.events.ofSession(id, cursor, PAGE);
    if (page.some(isFinal)) return true;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE) return false;
    cursor = last.id;
  }
}

/** Sends the session's events after `after` as they happen, each once and in order, until its final one or the client is gone. */
export async function followSession(parts: Parts, stream: SseStream, from: Follow): Promise<void> {
  const { store, feed } = parts;
  const { sessionId } = from;
  let { after } = from;
  let isFirst = true;
  while (!stream.closed.aborted) {
    const news = feed.next(sessionId, REREAD_MS, stream.closed);
    const events = await store.events.ofSession(sessionId, after, PAGE);
    for (const event of events) {
      await stream.send({ id: event.id, event: event.kind, data: event });
      after = event.id;
    }
    if (events.some(isFinal)) return;
    if (isFirst && events.length === 0 && (await isPastEnd(parts, sessionId, after))) return;
    isFirst = false;
    if (events.length < PAGE) await news;
  }
}
interface Follow {
  readonly sessionId: Session['id'];
  readonly after: string | null;
}
