import type { Containers } from '../docker/containers.js';
import { ContainerFailure } from '../docker/failures.js';

/** An image could not be brought; `retryable` is false when only another request (or other credentials) can mend it. */
export class WarmFailed extends Error {
  override readonly name = 'WarmFailed';
  readonly retryable: boolean;
  constructor(image: string, cause: unknown) {
    super(`${image}: ${cause instanceof Error ? cause.message : 'could not be pulled'}`, { cause });
    this.retryable = !(cause instanceof ContainerFailure) || cause.retryable;
  }
}

export interface WarmProgress {
  readonly signal: AbortSignal;
  readonly onPhase: (phase: string) => void;
}

/** One after the other, in the order given; what is there is not pulled again. Throws `WarmFailed` at the first failure. */
export async function warmImages(
  { containers }: { readonly containers: Pick<Containers, 'pull' | 'imageDigest'> },
  images: readonly string[],
  { signal, onPhase }: WarmProgress,
): Promise<void> {
  for (const image of images) {
    onPhase(`pulling ${image}`);
    try {
      if ((await containers.imageDigest(image)) === undefined) await containers.pull(image, { signal });
    } catch (error) {
      signal.throwIfAborted();
      throw new WarmFailed(image, error);
    }
  }
}
