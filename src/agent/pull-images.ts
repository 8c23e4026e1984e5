import type { LaunchOrder, NodeReport } from '../contract/index.js';
import type { RegistryAuth } from '../docker/container-spec.js';
import type { Containers } from '../docker/containers.js';
import type { PullProgress } from '../docker/pull-progress.js';
import type { Outbox } from './outbox.js';

export interface PullDeps {
  readonly containers: Pick<Containers, 'pull' | 'imageDigest'>;
  readonly outbox: Pick<Outbox, 'post'>;
}

const PROGRESS_EVERY_MS = 1_000;

/** Each image once, however many kernels use it. One that the engine has costs one question and no report. */
export async function pullImages(deps: PullDeps, orders: readonly LaunchOrder[], signal: AbortSignal): Promise<void> {
  const credentials = new Map(orders.map((order) => [order.image, order.registryCredentials]));
  for (const [image, auth] of credentials) {
    if ((await deps.containers.imageDigest(image)) !== undefined) continue;
    const waiting = orders.filter((order) => order.image === image);
    const report = throttled((progress) => {
      for (const order of waiting) void deps.outbox.post(pullReport(order, progress));
    });
    report(undefined);
    await deps.containers.pull(image, {
      onProgress: report,
      signal,
      ...(auth !== null && { auth: { ...auth, ...serverOf(image) } satisfies RegistryAuth }),
    });
  }
}

/** At most one a second; what comes in between is left out, since the next one says more. */
function throttled(report: (progress: PullProgress | undefined) => void) {
  let last = Number.NEGATIVE_INFINITY;
  return (progress: PullProgress | undefined): void => {
    const now = performance.now();
    if (now - last < PROGRESS_EVERY_MS) return;
    last = now;
    report(progress);
  };
}

function pullReport({ kernelId, attempt, image }: LaunchOrder, progress: PullProgress | undefined): NodeReport {
  const message = `pulling ${image}`.slice(0, 500);
  const bytes = progress && { doneBytes: progress.currentBytes, totalBytes: progress.totalBytes };
  return { kind: 'progress', kernelId, attempt, phase: 'pulling', message, ...bytes };
}

/** The registry in front of the name, where there is one: `host:port/` or `host.name/`. */
export function serverOf(image: string): { readonly serverAddress?: string } {
  const [first = '', ...rest] = image.split('/');
  const isHost = rest.length > 0 && (first.includes('.') || first.includes(':') || first === 'localhost');
  return isHost ? { serverAddress: first } : {};
}
