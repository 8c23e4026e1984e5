import { planGroup } from '../../activities/control/planning.js';
import type { CreateSessionInput, Session } from '../../src/contract/index.js';
import { log, session, type TestApi } from './support.js';

/** One pass of the group, as the control worker runs it. */
export const pass = ({ store, door }: TestApi, group = 'default'): Promise<unknown> =>
  planGroup({ store, door, log, count: () => undefined } as unknown as Parameters<typeof planGroup>[0], group);

/** A session that was submitted, placed and runs on the ledger; no container is behind it. */
export async function runningSession(
  api: TestApi,
  key: string,
  request: Partial<CreateSessionInput> = {},
): Promise<Session> {
  const made = await api.call(key, 'POST', '/v1/sessions', session(request));
  if (made.statusCode !== 201) throw new Error(made.body);
  const { id } = made.json<Session>();
  await pass(api);
  await api.store.sessions.begin(id, 1);
  await api.store.sessions.markRunning(id, 1);
  const found = (await api.call(key, 'GET', `/v1/sessions/${id}`)).json<Session>();
  if (found.state !== 'RUNNING') throw new Error(`${found.state}: ${found.message}`);
  return found;
}
