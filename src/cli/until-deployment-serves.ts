import type { Deployment } from '../contract/index.js';
import { parseDurationSeconds } from './amounts.js';
import { CliError } from './cli-error.js';
import { type CommandContext, Interrupted, interruptSignal } from './command-context.js';
import { deploymentProgress } from './deployment-text.js';
import { EXIT } from './exit-codes.js';
import { openProgress } from './progress.js';

/**
 * As it is once all that are wanted serve, with each change on the way told. Throws where it ended, or went back to another revision
 * (125), and when the time is over (124). A step that waits for a hand is told and is no failure. Ctrl-C leaves it to itself.
 */
export async function servingDeployment(
  { client, out }: CommandContext,
  applied: Deployment,
  timeout?: string,
): Promise<Deployment> {
  const { name } = applied;
  const timeoutSeconds = timeout === undefined ? undefined : parseDurationSeconds({ name: '--timeout', text: timeout });
  const progress = await openProgress();
  const { deployments } = await client();
  try {
    const onChange = (now: Deployment): void => progress.tell(deploymentProgress(now));
    const settled = await deployments.wait(name, { timeoutSeconds, signal: interruptSignal(), onChange });
    mustServe(settled, applied.rollout?.target ?? applied.currentRevision);
    return settled;
  } catch (error) {
    progress.end();
    if (error instanceof Interrupted)
      out.say(`${name} goes on without you: berth deploy why ${name}; end it: berth deploy rm ${name}`);
    throw error;
  } finally {
    progress.end();
  }
}

export function mustServe({ name, state, message, currentRevision, rollout }: Deployment, target: number | null): void {
  const hint = `berth deploy why ${name}`;
  if (state === 'ENDING' || state === 'ENDED')
    throw new CliError(`${name} does not serve: ${message}`, EXIT.conflict, hint);
  if (rollout === null && target !== null && currentRevision !== target)
    throw new CliError(
      `revision ${target} of ${name} did not serve: it went back to revision ${currentRevision ?? '-'}`,
      EXIT.notStarted,
      hint,
    );
}
