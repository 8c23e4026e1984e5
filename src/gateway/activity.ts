import type { Socket } from 'node:net';
import type { ActivityReport, SessionId } from '../contract/index.js';
import type { Logger } from '../platform/log.js';
import { ActivityCounts } from './activity-counts.js';

export type RecordActivity = (report: ActivityReport) => Promise<void>;

/** What goes to the ports of sessions: the measure of whether somebody uses them. */
export interface Activity {
  /** A request that began; call what it returns once, when it has ended. */
  begin(sessionId: SessionId): () => void;
  /** An open connection: in flight while bytes move on it, and nothing while it is silent. */
  watch(sessionId: SessionId, client: Socket): void;
  flush(): Promise<void>;
  close(): Promise<void>;
}

interface ActivityDeps {
  /** Unique among gateways, and the same after a restart. */
  readonly gateway: string;
  readonly record: RecordActivity;
  readonly everyMs: number;
  readonly log: Logger;
}

/**
 * Counted in memory, told each `everyMs`, also when there was nothing: silence of a gateway is a gap, and a gap reclaims
 * nothing. What could not be told is told with the next report.
 */
export function createActivity({ gateway, record, everyMs, log }: ActivityDeps): Activity {
  const counts = new ActivityCounts();
  const flush = async () => {
    const nowMs = Date.now();
    const sessions = counts.take(nowMs);
    try {
      await record({ gateway, sessions });
    } catch (error) {
      log.warn({ err: error }, 'activity could not be recorded; it is told with the next report');
      counts.putBack(sessions, nowMs);
    }
  };
  const timer = setInterval(() => void flush(), everyMs);
  return {
    begin(sessionId) {
      counts.began(sessionId, 1);
      return () => counts.ended(sessionId);
    },
    watch(sessionId, client) {
      counts.began(sessionId, 0);
      counts.watch(sessionId, client);
    },
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}
