import type { Database } from './database.js';
import { sql } from './sql.js';

export const EVENT_CHANNEL = 'berth_events';
/** Told by triggers (0011-models), within the transaction: changes of models are few. */
export const MODEL_CHANNEL = 'berth_models';
export const KEY_CHANNEL = 'berth_keys';
/** Told by triggers (0014-deployments), too. */
export const DEPLOYMENT_CHANNEL = 'berth_deployments';

/** Tells listeners that sessions have new events: after the commit, in a statement of its own (inside, it would serialize all commits). */
export interface Notifier {
  /** Returns at once. What fails is logged only: listeners read again each second or two. */
  changed(sessionIds: readonly string[]): void;
  /** When all that was told so far has gone out. */
  settled(): Promise<void>;
}

export function createNotifier(database: Database): Notifier {
  let waiting = new Set<string>();
  let flushing: Promise<void> | null = null;

  const flush = async () => {
    while (waiting.size > 0) {
      const ids = [...waiting];
      waiting = new Set();
      try {
        await database.run(sql`SELECT pg_notify(${EVENT_CHANNEL}, id) FROM unnest(${ids}::text[]) AS told(id)`);
      } catch (error) {
        database.logger.warn(
          { error: error instanceof Error ? error.message : 'unknown' },
          'a notification was not sent',
        );
      }
    }
    flushing = null;
  };
  return {
    changed: (sessionIds) => {
      for (const id of sessionIds) waiting.add(id);
      if (waiting.size > 0) flushing ??= flush();
    },
    settled: async () => {
      await flushing;
    },
  };
}
