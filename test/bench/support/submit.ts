import { type CreateSessionInput, createSessionSchema, type SessionId } from '../../../src/contract/index.js';
import { newSessionId } from '../../../src/platform/ids.js';
import type { Plant } from './plant.js';

const GIB = 2 ** 30;

export const requestOf = (command: readonly string[], image = 'instant:1'): CreateSessionInput => ({
  image,
  command: [...command],
  kernels: [{ role: 'main', slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 1 } }],
});

/** Without the API: the submission is stored and the door called, as the API's handler does. */
export async function submitDirectly(
  { store, door, admin }: Pick<Plant, 'store' | 'door' | 'admin'>,
  request: CreateSessionInput,
): Promise<SessionId> {
  const sessionId = newSessionId();
  const spec = createSessionSchema.parse(request);
  const submittedAt = new Date().toISOString();
  await store.idempotency.putSubmission({ sessionId, principal: admin, spec, sealedSecrets: null, submittedAt });
  const shown = { user: 'admin', project: 'default', group: 'default' };
  const answer = await door.submitSession(sessionId, 60_000, shown);
  if (answer.outcome !== 'admitted') throw new Error(`the session was not admitted: ${answer.outcome}`);
  return sessionId;
}

/** Calls `work` for 0 … count - 1, `atOnce` at a time. */
export async function inParallel(
  count: number,
  atOnce: number,
  work: (index: number) => Promise<unknown>,
): Promise<void> {
  let next = 0;
  const lane = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      await work(index);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, lane));
}
