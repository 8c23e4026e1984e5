import type { Session } from '../../contract/index.js';
import { hasEnded } from '../../lifecycle/milestones.js';
import type { KernelPlace } from '../agent-port.js';
import type { ApiDeps } from '../deps.js';
import { problem } from '../problem.js';

/** Where a kernel of the session is now; `kernel` is a role or an id. Throws the refusal that says what is lacking. */
export async function locateKernel(
  { store }: Pick<ApiDeps, 'store'>,
  session: Session,
  kernel: string,
): Promise<KernelPlace> {
  const place = await store.sessions.locateKernel(session.id, kernel);
  if (place !== null) return place;
  const roles = session.kernels.map(({ role }) => role);
  if (session.kernels.some(({ id, role }) => id === kernel || role === kernel)) {
    if (hasEnded(session)) throw problem('gone', `${session.name} ended before it was on a node: it has no output`);
    throw problem('conflict', `${session.name} is not on a node yet`, { hint: `berth why ${session.name}` });
  }
  throw problem('not_found', `${session.name} has no kernel ${kernel}; it has ${roles.join(', ')}`);
}
