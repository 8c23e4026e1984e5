import type { ModelClaim } from '../contract/index.js';
import { WaitTimeoutError } from './problem-error.js';
import { sleep, type Transport } from './transport.js';

const LOOK_AGAIN_MILLISECONDS = 500;

export interface WaitForModel {
  /** For ever when omitted. */
  readonly timeoutSeconds?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onChange?: ((claim: ModelClaim) => void) | undefined;
}

/** It serves, or waiting alone brings it no further. */
export const isSettled = ({ phase, reason }: Pick<ModelClaim, 'phase' | 'reason'>): boolean =>
  phase === 'ACTIVE' || phase === 'FAILED' || phase === 'STOPPING' || reason?.code === 'TooLargeForAnyGpu';

/** The claim as it is once it has settled. Throws `WaitTimeoutError`. */
export async function waitForModel(transport: Transport, claim: string, options: WaitForModel): Promise<ModelClaim> {
  const { timeoutSeconds = Number.POSITIVE_INFINITY, signal, onChange } = options;
  const until = performance.now() + timeoutSeconds * 1000;
  let told = '';
  for (;;) {
    const found = await transport.call('getModelClaim', { params: { claim } }, { signal });
    const state = JSON.stringify([found.phase, found.reason?.code, found.reason?.message]);
    if (state !== told) onChange?.(found);
    told = state;
    if (isSettled(found)) return found;
    if (performance.now() >= until) {
      throw new WaitTimeoutError(`${found.modelName} is ${found.phase} after ${timeoutSeconds} s, not ACTIVE`);
    }
    await sleep(LOOK_AGAIN_MILLISECONDS, signal);
  }
}
