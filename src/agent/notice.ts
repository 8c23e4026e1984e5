import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import { containerName, type KernelContainer, readKernel, runKey } from './kernel-container.js';
import type { Marks } from './marks.js';

export interface NoticeDeps {
  readonly containers: Pick<Containers, 'inspect' | 'kill' | 'exec'>;
  readonly stops: Marks;
  readonly notices: Marks;
  readonly log: Logger;
}

export interface Notice {
  readonly attempt: number;
  readonly kernelIds: readonly string[];
  readonly graceMs: number;
}

export interface Notices {
  /**
   * Tells each kernel once an attempt that it will be stopped, and returns when that is delivered. With a checkpoint
   * command only the main kernel is told: a worker that ends under the checkpoint would spoil it. What does not run is
   * success. An agent that dies between the delivery and its mark delivers twice: a lost notice would lose work.
   */
  readonly give: (notice: Notice) => Promise<void>;
}

/** What a shell and the engine answer for a command that cannot be run: then the signal is the notice. */
const CANNOT_RUN: readonly number[] = [126, 127];

export function createNotices(deps: NoticeDeps): Notices {
  const underWay = new Map<string, Promise<void>>();
  const once = (key: string, step: () => Promise<void>): Promise<void> => {
    const given = underWay.get(key) ?? step().finally(() => underWay.delete(key));
    underWay.set(key, given);
    return given;
  };
  return {
    give: async ({ kernelIds, attempt, graceMs }) => {
      const runs = kernelIds.map((kernelId) => ({ kernelId, attempt }));
      await Promise.all(
        runs.map((run) =>
          once(runKey(run), async () => {
            if (deps.notices.has(runKey(run))) return;
            const kernel = await running(deps, containerName(run));
            if (kernel === undefined) return;
            await tell(deps, kernel, graceMs);
            await deps.notices.add(runKey(run));
          }),
        ),
      );
    },
  };
}

async function running({ containers }: NoticeDeps, name: string): Promise<KernelContainer | undefined> {
  const container = await containers.inspect(name);
  const kernel = container && readKernel(container);
  return kernel?.state === 'running' ? kernel : undefined;
}

async function tell(deps: NoticeDeps, kernel: KernelContainer, graceMs: number): Promise<void> {
  const { name, notice, role, kernelId, attempt } = kernel;
  await deps.stops.add(runKey(kernel)); // what it ends with from here on was asked for
  deps.log.info({ kernelId, attempt, graceMs, byCommand: notice.command !== undefined }, 'a kernel gets its notice');
  if (notice.command === undefined) await deps.containers.kill(name, notice.signal);
  else if (role === 'main') await beginCheckpoint(deps, kernel, { command: notice.command, graceMs });
}

interface Checkpoint {
  readonly command: readonly string[];
  readonly graceMs: number;
}

/** Resolves when the engine has begun the command; what it comes to is followed until the grace is over. */
function beginCheckpoint(deps: NoticeDeps, kernel: KernelContainer, checkpoint: Checkpoint): Promise<void> {
  return new Promise((resolve, reject) => {
    follow(deps, kernel, { ...checkpoint, onStarted: resolve }).then(resolve, (error: unknown) => {
      running(deps, kernel.name).then((still) => (still === undefined ? resolve() : reject(error as Error)), reject);
    });
  });
}

async function follow(
  { containers, log }: NoticeDeps,
  { name, kernelId, notice }: KernelContainer,
  { command, graceMs, onStarted }: Checkpoint & { readonly onStarted: () => void },
): Promise<void> {
  const env = { BERTH_NOTICE_SECONDS: String(graceMs / 1000) };
  const options = { env, onStarted, signal: AbortSignal.timeout(graceMs) };
  let exitCode: number | undefined;
  for await (const frame of containers.exec({ name, command, options })) {
    if (frame.stream === 'exit') exitCode = frame.exitCode;
  }
  log.info({ kernelId, exitCode: exitCode ?? 'not ended in time' }, 'the checkpoint command of a kernel');
  if (exitCode !== undefined && CANNOT_RUN.includes(exitCode)) await containers.kill(name, notice.signal);
}
