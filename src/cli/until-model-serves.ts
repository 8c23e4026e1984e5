import type { ModelClaim } from '../contract/index.js';
import { parseDurationSeconds } from './amounts.js';
import { CliError } from './cli-error.js';
import { type CommandContext, Interrupted, interruptSignal } from './command-context.js';
import { EXIT } from './exit-codes.js';
import { openProgress } from './progress.js';

/** `PENDING · NoRoom · needs 40 GiB; …`. */
export const progressText = ({ phase, reason }: ModelClaim): string =>
  [phase, reason?.code, reason?.message].filter((part) => part !== undefined && part !== '').join(' · ');

/**
 * The claim once it serves, with each change on the way told. Throws where waiting cannot help (too large: exit 6; failed:
 * 125) and when the time is over (124). Ctrl-C leaves it to itself.
 */
export async function settledModel(
  { client, out }: CommandContext,
  claim: ModelClaim,
  timeout?: string,
): Promise<ModelClaim> {
  const { modelName, reason } = claim;
  if (reason?.code === 'TooLargeForAnyGpu') mustServe(claim); // its answer knows it before the planner has looked
  const timeoutSeconds = timeout === undefined ? undefined : parseDurationSeconds({ name: '--timeout', text: timeout });
  const progress = await openProgress();
  const { models } = await client();
  try {
    const onChange = (now: ModelClaim): void => progress.tell(progressText(now));
    const settled = await models.wait(modelName, { timeoutSeconds, signal: interruptSignal(), onChange });
    mustServe(settled);
    return settled;
  } catch (error) {
    progress.end();
    if (error instanceof Interrupted) {
      out.say(`${modelName} goes on without you: berth model why ${modelName}; end it: berth model rm ${modelName}`);
    }
    throw error;
  } finally {
    progress.end();
  }
}

function mustServe(claim: ModelClaim): void {
  const { modelName, phase, reason } = claim;
  if (phase === 'ACTIVE') return;
  const message = `${modelName} does not serve: ${reason?.message ?? phase}`;
  const hint = `berth model why ${modelName}`;
  if (reason?.code === 'TooLargeForAnyGpu') throw new CliError(message, EXIT.refused, hint);
  throw new CliError(message, phase === 'FAILED' ? EXIT.notStarted : EXIT.conflict, hint);
}
