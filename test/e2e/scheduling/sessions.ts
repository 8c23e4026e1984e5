import { BUSYBOX_IMAGE } from '../../../infra/setup/image.mjs';
import type { CreateSessionInput, Session, SessionEvent } from '../../../src/contract/index.js';
import type { Client } from '../../../src/sdk/index.js';
import { eventually } from '../../support/process.js';
import { runsFor } from './random-stream.js';

type Slots = Partial<CreateSessionInput['kernels'][number]['slots']>;

/** A session of one kernel that runs until it is told to end, and then exits with 99. */
export const runsOn = (name: string, slots: Slots, more: Partial<CreateSessionInput> = {}): CreateSessionInput => ({
  name,
  image: BUSYBOX_IMAGE,
  command: runsFor(600),
  gracePeriodSeconds: 2,
  kernels: [{ slots: { cpuMilli: 100, memoryBytes: 32 * 2 ** 20, ...slots } }],
  ...more,
});

/** Resolves with the session once it is so. Throws, with its history, when it ended or that took longer than a minute. */
export async function whenIs(
  client: Client,
  session: Pick<Session, 'id' | 'name'>,
  [state, attempt]: readonly [Session['state'], attempt?: number],
): Promise<Session> {
  const wanted = `${session.name} is ${state}${attempt === undefined ? '' : ` as attempt ${attempt}`}`;
  const until = performance.now() + 60_000;
  for (;;) {
    const found = await client.sessions.get(session.id);
    if (found.state === state && (attempt === undefined || found.attempt === attempt)) return found;
    if (found.endedAt !== null || performance.now() > until) {
      const history = (await historyOf(client, session)).map(({ at, to, cause, message }) =>
        [at, to, cause, message].join(' '),
      );
      throw new Error([`not so: ${wanted}`, ...history].join('\n'));
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export const historyOf = (client: Client, { id }: Pick<Session, 'id'>): Promise<readonly SessionEvent[]> =>
  client.sessions.history(id).toArray();

export const changesTo = (history: readonly SessionEvent[], state: Session['state']): readonly SessionEvent[] =>
  history.filter(({ kind, to }) => kind === 'state' && to === state);

/** Once it tells of a return to the queue: it is read behind every running transaction, so it may be a moment late. */
export async function historyWithReturns(
  client: Client,
  session: Pick<Session, 'id'>,
): Promise<readonly SessionEvent[]> {
  let history: readonly SessionEvent[] = [];
  await eventually(`${session.id} came back to the queue`, async () => {
    history = await historyOf(client, session);
    return changesTo(history, 'PENDING').length > 1;
  });
  return history;
}

export const path = (history: readonly SessionEvent[]): readonly string[] =>
  history.filter(({ kind }) => kind === 'state').map(({ to }) => to ?? '');

export const nodesOf = ({ kernels }: Session): readonly (string | null)[] => kernels.map(({ node }) => node);

export async function endAll(client: Client, sessions: readonly Session[]): Promise<void> {
  for (const { id } of sessions) await client.sessions.stop(id, { force: true });
  for (const { id } of sessions) await client.sessions.wait(id, { timeoutSeconds: 60 });
}
