import type { CreateSessionInput, GroupPolicy, SessionId } from '../../src/contract/index.js';
import { GIB } from '../store/ledger.js';
import type { ControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';

type Request = Partial<CreateSessionInput>;

/** One kernel with so many devices. */
export const gpus = (gpuCount: number, change: Request = {}): Request => ({
  kernels: [{ role: 'main', slots: { cpuMilli: 500, memoryBytes: GIB, gpuCount } }],
  ...change,
});

/** Retries at once, so that a test need not wait for a back-off. */
export const AT_ONCE = { maxAttempts: 3, backoffSeconds: 0, maxBackoffSeconds: 0 } as const;

const PREEMPTION = { enabled: true, mode: 'requeue', scope: 'user', order: 'newest' } as const;

export async function setPolicy({ store }: ControlPlane, policy: Partial<GroupPolicy>, group = 'default') {
  await store.settings.patchGroup(group, { policy, ifMatch: null });
}
export const allowPreemption = (plane: ControlPlane, change: Partial<GroupPolicy['preemption']> = {}) =>
  setPolicy(plane, { preemption: { ...PREEMPTION, ...change } });

/** Asked and told, as the API does it. */
export async function stop({ store, door }: ControlPlane, sessionId: SessionId, graceMs: number | null = null) {
  const asked = { sessionId, cause: 'user-stop', actor: 'admin', message: 'enough', graceMs } as const;
  const stopped = await store.sessions.requestStop({ ...asked, force: graceMs === 0 });
  const told = { sessionId, kind: 'stop', attempt: stopped?.attempt ?? 0 } as const;
  await door.signalSession(graceMs === null ? told : { ...told, graceMs });
}

export async function stopAll(plane: ControlPlane): Promise<void> {
  const { items } = await plane.store.sessions.list({ limit: 100, open: true }, plane.admin);
  await Promise.all(items.map(({ id }) => stop(plane, id, 0)));
  for (const { id } of items) await plane.until(id, 'TERMINATED', 'CANCELLED', 'ERROR');
}

export const running = (plane: ControlPlane, id: SessionId, attempt = 1): Promise<void> =>
  eventually(`${id} runs as attempt ${attempt}`, async () => {
    const session = await plane.session(id);
    return session.state === 'RUNNING' && session.attempt === attempt;
  });

/** Each state that it came to, in order. */
export async function statesOf({ store }: ControlPlane, id: SessionId): Promise<string[]> {
  const events = await store.events.ofSession(id, null, 1_000);
  return events.flatMap(({ kind, to }) => (kind === 'state' && to !== null ? [to] : []));
}

/** Nothing of the last test behaves on. */
export function behaveAgain({ node }: ControlPlane): void {
  for (const key of Object.keys(node.behaviour)) delete node.behaviour[key as keyof typeof node.behaviour];
}
