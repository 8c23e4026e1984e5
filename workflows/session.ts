import {
  allHandlersFinished,
  CancellationScope,
  condition,
  isCancellation,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Admission, Placement } from '../activities/control/control-activities.js';
import { endedDetails, phaseDetails, waitingDetails } from '../src/lifecycle/details.js';
import { DEFAULT_DURATIONS, type Durations } from '../src/lifecycle/durations.js';
import { control } from './activity-table.js';
import { type AdmitAnswer, admitUpdate, sessionViewQuery } from './messages.js';
import { show } from './search.js';
import { runAttempt } from './session-attempt.js';
import { openInbox, type SessionInbox, stopAsked } from './session-inbox.js';

export interface SessionInput {
  readonly sessionId: string;
  /** Who started it set user, project and group as search attributes already. */
  readonly shown: boolean;
  /** The workflow before this one is gone: go on from the row. */
  readonly takeOver?: boolean;
  readonly durations?: Durations;
}

/** The life of one session, from the request to the released reservation. Its history carries ids; the ledger has the rest. */
export async function sessionWorkflow(input: SessionInput): Promise<string> {
  const { sessionId, shown, takeOver = false, durations = DEFAULT_DURATIONS } = input;
  const view = { phase: 'admitting', attempt: 0 };
  const inbox = openInbox();
  setHandler(sessionViewQuery, () => ({ ...view }));
  const admission = control.admit(sessionId);
  setHandler(admitUpdate, async () => answerOf(await admission));

  const admitted = await admission;
  if (admitted.outcome === 'refused') return closing('REFUSED', admitted.refusal.detail);
  const session = admitted.shown;
  if (!shown) show({ status: 'PENDING', user: session.user, project: session.project, group: session.group });
  setCurrentDetails(waitingDetails(session));

  view.phase = 'waiting';
  const open = (takeOver ? await control.openPlacement(sessionId) : null) ?? (await untilBegun(sessionId, inbox));
  if (open === 'stop') {
    const finished = await CancellationScope.nonCancellable(() => control.finish(sessionId, inbox.placed, true));
    return closing(finished.state, endedDetails(session, `${finished.state} before it ran`));
  }
  const nodes = open.placement.nodes.map(({ node }) => node);
  view.phase = 'placed';
  view.attempt = open.placement.attempt;
  show({ status: 'PREPARING', reason: 'placed', nodes });
  setCurrentDetails(phaseDetails(session, 'Starting', nodes));
  const finished = await runAttempt({ session, ...open, inbox, durations });
  return closing(finished.state, endedDetails(session, `${finished.state}: ${finished.cause ?? finished.result}`));
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, sessionWorkflow);

const answerOf = (admission: Admission): AdmitAnswer =>
  admission.outcome === 'admitted' ? { outcome: 'admitted' } : { outcome: 'refused', refusal: admission.refusal };

type Opened = { readonly placement: Placement; readonly started: boolean } | 'stop';

/** Waits without a timer: waiting costs nothing. Who was placed is decided by the row, in `begin`, never by a signal alone. */
async function untilBegun(sessionId: string, inbox: SessionInbox): Promise<Opened> {
  let tried = 0;
  try {
    for (;;) {
      await condition(() => inbox.placed > tried || stopAsked(inbox));
      if (inbox.placed <= tried) return 'stop';
      tried = inbox.placed;
      const begun = await control.begin(sessionId, tried);
      if (begun.outcome === 'stop') return 'stop';
      if (begun.outcome === 'go') return { placement: begun.placement, started: false };
    }
  } catch (error) {
    if (!isCancellation(error)) throw error;
    const ending = {
      sessionId,
      attempt: tried,
      cause: 'operator-stop',
      message: 'its workflow was cancelled in Temporal',
    } as const;
    await CancellationScope.nonCancellable(() => control.markEnding(ending));
    return 'stop';
  }
}

/** Ends the run: shows the outcome, and lets an update that still waits have its answer first. */
async function closing(status: string, details: string): Promise<string> {
  show({ status, reason: '' });
  setCurrentDetails(details);
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return `${status} (${workflowInfo().workflowId})`;
}
