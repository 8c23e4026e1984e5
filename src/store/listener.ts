import type { PoolClient } from 'pg';
import type { StoreContext } from './context.js';
import { DEPLOYMENT_CHANNEL, EVENT_CHANNEL, KEY_CHANNEL, MODEL_CHANNEL } from './notifier.js';
import type { EventStore } from './store.js';

const RETRY_MS = 500;

/** One connection of its own; when it is lost it comes back by itself and says so: what was told meanwhile is unknown. */
export async function listenForEvents(
  { db }: StoreContext,
  on: Parameters<EventStore['listen']>[0],
): Promise<{ close(): Promise<void> }> {
  let client: PoolClient | null = null;
  let timer: NodeJS.Timeout | null = null;
  let isClosed = false;

  const lost = (gone: PoolClient) => {
    if (client !== gone) return;
    client = null;
    gone.release(true);
    again();
  };
  const again = () => {
    if (!isClosed) timer = setTimeout(() => void connect().then(on.reconnect, again), RETRY_MS);
  };
  const connect = async () => {
    const fresh = await db.pool.connect();
    if (isClosed) return fresh.release(true);
    client = fresh;
    fresh.on('error', () => lost(fresh));
    fresh.on('end', () => lost(fresh));
    fresh.on('notification', ({ channel, payload = '' }) => {
      if (channel === MODEL_CHANNEL) on.model?.(payload);
      else if (channel === DEPLOYMENT_CHANNEL) on.deployment?.(payload);
      else if (channel === KEY_CHANNEL) on.key?.(payload === '' ? null : payload);
      else on.session(payload);
    });
    try {
      await fresh.query(`LISTEN ${EVENT_CHANNEL}`);
      if (on.model !== undefined) await fresh.query(`LISTEN ${MODEL_CHANNEL}`);
      if (on.deployment !== undefined) await fresh.query(`LISTEN ${DEPLOYMENT_CHANNEL}`);
      if (on.key !== undefined) await fresh.query(`LISTEN ${KEY_CHANNEL}`);
    } catch (error) {
      if (client === fresh) {
        client = null;
        fresh.release(true);
      }
      throw error;
    }
  };
  await connect();
  return {
    close: async () => {
      isClosed = true;
      if (timer !== null) clearTimeout(timer);
      const open = client;
      client = null;
      open?.release(true);
    },
  };
}
