import {
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { DeploymentTurnReport } from '../activities/control/deployment-activities.js';
import { DEFAULT_DURATIONS, type Durations, WAKE_FLOOR_MS } from '../src/lifecycle/durations.js';
import { control } from './activity-table.js';
import { kickSignal } from './messages.js';

export interface DeploymentInput {
  readonly deploymentId: string;
  /** A kick that came during the last turn of the run before. */
  readonly kicked: boolean;
  readonly durations?: Durations;
}

/**
 * Keeps one deployment as it is wanted: a turn after each kick, at the moment that the last turn named, and at least at each
 * net. What a turn decided stands in the ledger before anything is done, so this workflow may be lost and started again at any
 * moment. It ends when the deployment has ended and its last replica is gone.
 */
export async function deploymentWorkflow({
  deploymentId,
  kicked: before,
  durations = DEFAULT_DURATIONS,
}: DeploymentInput): Promise<string> {
  let kicked = before;
  setHandler(kickSignal, () => {
    kicked = true;
  });
  let isFirst = true; // whatever a run before left undone
  let waitMs = 0; // a new run looks at once
  for (;;) {
    if (waitMs > 0 && !kicked) await condition(() => kicked, waitMs, { summary: 'next turn at the latest' });
    kicked = false;
    const turn = await control.deploymentTurn(deploymentId);
    setCurrentDetails(turn.details);
    if (turn.outcome !== 'lives') {
      if (!kicked) return turn.details;
      waitMs = 0;
      continue;
    }
    const { more } = turn.workDue || isFirst ? await control.deploymentWork(deploymentId) : { more: false };
    isFirst = false;
    waitMs = untilNext(turn, more, durations);
    if (workflowInfo().continueAsNewSuggested)
      await continueAsNew<typeof deploymentWorkflow>({ deploymentId, kicked, durations });
  }
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, deploymentWorkflow);

function untilNext(
  { isAtRest, nextLookMs }: DeploymentTurnReport,
  more: boolean,
  { deploymentNetMs, deploymentRestMs }: Durations,
): number {
  if (more) return 0;
  const net = isAtRest ? deploymentRestMs : deploymentNetMs;
  return Math.max(Math.min(net, nextLookMs ?? net), WAKE_FLOOR_MS);
}
