import type { Reason, Why } from '../../contract/index.js';
import type { ReasonView } from './reason-view.js';

type Action = Why['actions'][number];
export interface ActionSubject {
  readonly id: string;
  readonly state: string;
  readonly group: string;
  readonly project: string;
  readonly domain: string;
  readonly user: string;
}
type Help = (subject: ActionSubject, view: ReasonView) => readonly Action[];

const SHOWN = 3;
const action = (title: string, command: string): Action => ({ title, command });

const seeQuota =
  (scope: (subject: ActionSubject) => string): Help =>
  (subject) => [action('See the quota and what it holds', `berth quota get ${scope(subject)}`)];
const seeNodes: Help = ({ group }) => [action('See the nodes of the group', `berth node ls --group ${group}`)];
const seeGroup: Help = ({ group }) => [action('See the policy of the group', `berth group show ${group}`)];
const seeNearest: Help = (_, { nearest }) =>
  nearest === null ? [] : [action('See who has the node that lacks least', `berth node show ${nearest.node}`)];
const seeBlockers =
  (title: string): Help =>
  (_, { blockers }) =>
    blockers
      .filter((blocker) => blocker.kind === 'session')
      .slice(0, SHOWN)
      .map((blocker) => action(title, `berth why ${blocker.name}`));
const resume: Help = ({ group }) => [action('Let the group go on', `berth group set ${group} --resume`)];
const seeAttempts: Help = ({ id }) => [action('See what failed', `berth history ${id}`)];
const boundIt: Help = () => [
  action('Start it anew with a maximum runtime that ends before the reservation', 'berth run --max-runtime DURATION …'),
];

/** What helps against each reason, most helpful first; a reason that is not here has nothing of its own. */
const HELP: Readonly<Partial<Record<Reason, readonly Help[]>>> = {
  misconfigured: [seeNodes, seeGroup],
  no_matching_device: [seeNodes],
  too_large_for_any_node: [seeNodes],
  dependency_pending: [seeBlockers('See what it waits for')],
  queue_paused: [resume],
  user_quota: [seeQuota(({ user }) => `user/${user}`)],
  project_quota: [seeQuota(({ domain, project }) => `project/${domain}/${project}`)],
  domain_quota: [seeQuota(({ domain }) => `domain/${domain}`)],
  guaranteed_share: [seeGroup],
  no_schedulable_node: [seeNodes],
  behind_in_queue: [seeBlockers('See what the one ahead waits for')],
  insufficient_capacity: [seeNearest, seeNodes],
  fragmented: [seeNearest, seeNodes],
  delays_reservation: [seeBlockers('See whose start it would delay'), boundIt],
  waiting_for_victims: [seeBlockers('See who leaves for it')],
  backoff: [seeAttempts],
};

const OVER: ReadonlySet<string> = new Set(['TERMINATED', 'CANCELLED', 'ERROR', 'TERMINATING']);

/** Commands that help, most helpful first; then those that every session of its state has. */
export function actionsFor(subject: ActionSubject, view: ReasonView | null): Action[] {
  const { id, state, group } = subject;
  const own = view === null ? [] : (HELP[view.reason] ?? []).flatMap((help) => help(subject, view));
  const actions = [...own];
  if (state === 'PENDING') actions.push(action('See the queue', `berth queue ${group}`));
  if (state === 'RUNNING') actions.push(action('Follow its log', `berth logs -f ${id}`));
  if (OVER.has(state) || state === 'PREEMPTING') actions.push(action('See what happened', `berth history ${id}`));
  if (!OVER.has(state)) actions.push(action('Stop it', `berth stop ${id}`));
  return actions;
}
