import type { OperationId } from '../../contract/index.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';

type Ids = Extract<OperationId, 'health' | 'liveness' | 'metrics'>;

const PING_MS = 2_000;

async function part(name: string, ping: () => Promise<unknown>) {
  try {
    await ping();
    return { name, ok: true, detail: 'answers' };
  } catch {
    return { name, ok: false, detail: 'does not answer' };
  }
}

const within = (ms: number, work: Promise<unknown>): Promise<unknown> =>
  Promise.race([work, new Promise((_resolve, reject) => setTimeout(() => reject(new Error('too slow')), ms).unref())]);

export function systemHandlers({ store, door, registry, folderBytes, options }: ApiDeps): Handlers<Ids> {
  return {
    async health() {
      const parts = await Promise.all([
        part('postgres', () => within(PING_MS, store.ping())),
        part('temporal', () => within(PING_MS, door.ping(PING_MS))),
        part('storage', () => folderBytes.ping(PING_MS)),
      ]);
      return { version: options.version, parts };
    },
    liveness: async () => ({ ok: true }),
    async metrics(_input, { reply }) {
      const text = await registry.metrics();
      void reply.type(registry.contentType).serializer(String).send(text);
      return 'stream';
    },
  };
}
