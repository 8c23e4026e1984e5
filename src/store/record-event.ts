import type { SessionEvent } from '../contract/index.js';
import type { Runner } from './database.js';
import { json, sql } from './sql.js';

export interface NewEvent {
  readonly sessionId: string;
  readonly kind: SessionEvent['kind'];
  readonly from: string | null;
  readonly to: string | null;
  readonly cause: string;
  readonly actor: string;
  readonly attempt: number;
  readonly message?: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** In the transaction of the change that it tells of: one is never there without the other. */
export async function recordEvent(tx: Runner, event: NewEvent): Promise<void> {
  await tx.run(sql`
    INSERT INTO session_events (session_id, kind, from_value, to_value, cause, actor, attempt, message, data)
    VALUES (${event.sessionId}, ${event.kind}, ${event.from}, ${event.to}, ${event.cause}, ${event.actor},
            ${event.attempt}, ${event.message ?? ''}, ${json(event.data ?? {})}::jsonb)`);
}
