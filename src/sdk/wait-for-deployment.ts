import type { Deployment } from '../contract/index.js';
import { WaitTimeoutError } from './problem-error.js';
import { sleep, type Transport } from './transport.js';

const LOOK_AGAIN_MILLISECONDS = 500;

export interface WaitForDeployment {
  /** For ever when omitted. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onChange?: ((deployment: Deployment) => void) | undefined;
}

/** Waiting alone brings it no further: all serve, none is wanted, it ends, or a step waits for a hand. */
export const isDeploymentSettled = ({ state, rollout }: Pick<Deployment, 'state' | 'rollout'>): boolean =>
  state === 'ENDING' ||
  state === 'ENDED' ||
  (rollout === null ? state === 'READY' || state === 'IDLE' : rollout.waitsForPromotion || rollout.paused);

/** As it is once it has settled. Throws `WaitTimeoutError`. */
export async function waitForDeployment(
  transport: Transport,
  name: string,
  options: WaitForDeployment,
): Promise<Deployment> {
  const { timeoutSeconds = Number.POSITIVE_INFINITY, signal, onChange } = options;
  const until = performance.now() + timeoutSeconds * 1000;
  let told = '';
  for (;;) {
    const found = await transport.call('getDeployment', { params: { name } }, { signal });
    const { state, message, replicasWanted, replicasLive, replicasServing, rollout } = found;
    const now = JSON.stringify([state, message, replicasWanted, replicasLive, replicasServing, rollout?.message]);
    if (now !== told) onChange?.(found);
    told = now;
    if (isDeploymentSettled(found)) return found;
    if (performance.now() >= until) {
      throw new WaitTimeoutError(`${name} is ${state} after ${timeoutSeconds} s, not READY: ${message}`);
    }
    await sleep(LOOK_AGAIN_MILLISECONDS, signal);
  }
}
