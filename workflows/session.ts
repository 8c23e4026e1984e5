import {
  allHandlersFinished,
  CancellationScope,
  condition,
  continueAsNew,
  setCurrentDetails,
  setHandler,
  setWorkflowOptions,
  workflowInfo,
} from '@temporalio/workflow';
import type { Admission, Finished } from '../activities/control/control-activities.js';
import {
  againDetails,
  endedDetails,
  phaseDetails,
  type ShownSession,
  waitingDetails,
} from '../src/lifecycle/details.js';
import { DEFAULT_DURATIONS, type Durations } from '../src/lifecycle/durations.js';
import { isEnded } from '../src/lifecycle/session-states.js';
import { control } from './activity-table.js';
import { type AdmitAnswer, admitUpdate, type SessionView, sessionViewQuery } from './messages.js';
import { show } from './search.js';
import { runAttempt } from './session-attempt.js';
import { openInbox, type SessionInbox } from './session-inbox.js';
import { type Opened, untilPlaced } from './session-waiting.js';

export interface SessionInput {
  readonly sessionId: string;
  /** Who started it set user, project and group as search attributes already. */
  readonly shown: boolean;
  /** The workflow before this one is gone: go on from the row. */
  readonly takeOver?: boolean;
  readonly durations?: Durations;
  /** The run before this one was put back to wait, and handed on what it knew. */
  readonly goesOn?: GoesOn;
}

export interface GoesOn {
  readonly session: ShownSession;
  /** The last attempt, which is over. */
  readonly attempt: number;
  readonly inbox: SessionInbox;
  readonly details: string;
}

/**
 * The life of one session, from the request to the released reservation: it waits, runs an attempt, and waits again for as
 * long as the row says so. Its history carries ids; the ledger has the rest.
 */
export async function sessionWorkflow(input: SessionInput): Promise<string> {
  const { sessionId, shown, takeOver = false, durations = DEFAULT_DURATIONS, goesOn } = input;
  const view = { phase: 'admitting', attempt: goesOn?.attempt ?? 0 };
  const inbox = openInbox(goesOn?.inbox);
  setHandler(sessionViewQuery, () => ({ ...view }));
  const admission = goesOn === undefined ? control.admit(sessionId) : admittedBefore(goesOn);
  setHandler(admitUpdate, async () => answerOf(await admission));

  const admitted = await admission;
  if (admitted.outcome === 'refused') return closing('REFUSED', admitted.refusal.detail);
  const session = admitted.shown;
  if (goesOn === undefined && !shown)
    show({ status: 'PENDING', user: session.user, project: session.project, group: session.group });
  setCurrentDetails(goesOn?.details ?? waitingDetails(session));

  let open: Opened | null = takeOver ? await control.openPlacement(sessionId) : null;
  for (;;) {
    view.phase = 'waiting';
    open ??= await untilPlaced(sessionId, inbox, view.attempt);
    const finished = await through(open, { session, inbox, durations, view });
    if (isEnded(finished.state)) return closing(finished.state, endedDetails(session, outcomeOf(open, finished)));
    open = null;
    const details = againDetails(session, view.attempt, finished);
    show({ status: 'PENDING', reason: finished.cause ?? '', nodes: [] });
    setCurrentDetails(details);
    if (workflowInfo().continueAsNewSuggested) {
      await condition(allHandlersFinished);
      const next: GoesOn = { session, attempt: view.attempt, inbox, details };
      await continueAsNew<typeof sessionWorkflow>({ sessionId, shown, durations, goesOn: next });
    }
  }
}

setWorkflowOptions({ versioningBehavior: 'AUTO_UPGRADE' }, sessionWorkflow);

const admittedBefore = async ({ session }: GoesOn): Promise<Admission> => ({
  outcome: 'admitted',
  shown: session as Extract<Admission, { outcome: 'admitted' }>['shown'],
});

const answerOf = (admission: Admission): AdmitAnswer =>
  admission.outcome === 'admitted' ? { outcome: 'admitted' } : { outcome: 'refused', refusal: admission.refusal };

interface Known {
  readonly session: ShownSession;
  readonly inbox: SessionInbox;
  readonly durations: Durations;
  readonly view: { -readonly [Key in keyof SessionView]: SessionView[Key] };
}

/** One attempt, from its placement to its release. What was stopped while it waited has nothing more to do. */
async function through(open: Opened, { session, inbox, durations, view }: Known): Promise<Finished> {
  if ('stopped' in open) return open.stopped;
  const nodes = open.placement.nodes.map(({ node }) => node);
  view.phase = 'placed';
  view.attempt = open.placement.attempt;
  show({ status: 'PREPARING', reason: 'placed', nodes });
  setCurrentDetails(phaseDetails(session, 'Starting', nodes));
  return runAttempt({ session, ...open, inbox, durations });
}

const outcomeOf = (open: Opened, { state, cause, result }: Finished): string =>
  'stopped' in open ? `${state} before it ran` : `${state}: ${cause ?? result}`;

/** Ends the run: shows the outcome, and lets an update that still waits have its answer first. */
async function closing(status: string, details: string): Promise<string> {
  show({ status, reason: '' });
  setCurrentDetails(details);
  await CancellationScope.nonCancellable(() => condition(allHandlersFinished));
  return `${status} (${workflowInfo().workflowId})`;
}
