import type { Reason, Session, Why } from '../contract/index.js';

type Action = Why['actions'][number];
type Help = (session: Session, why: Why) => readonly Action[];

const action = (title: string, command: string): Action => ({ title, command });

const nodesOfGroup: Help = ({ group }) => [
  action('See what the nodes of the group have', `berth node ls --group ${group} -o wide`),
];

const heldByUser: Help = ({ user }) => [
  action('See what holds the quota: ending one of these makes room', `berth ps --user ${user}`),
];

const heldByProject: Help = ({ project }) => [
  action('See what holds the quota: ending one of these makes room', `berth ps --project ${project}`),
];

/** Runtimes that are bounded tell when it starts; a short enough one lets it pass. */
const boundIt: Help = ({ maxRuntimeSeconds }) =>
  maxRuntimeSeconds === null
    ? [action('Say how long it runs: what ends in time may start ahead', 'berth run --max-runtime 30m …')]
    : [action('A shorter maximum runtime may fit ahead of the reservation', 'berth run --dry-run --max-runtime 10m …')];

/** More than one kernel on one node asks for more than the same kernels on several. */
const spreadIt: Help = ({ clusterMode, kernels }) =>
  clusterMode === 'single-node' && kernels.length > 1
    ? [action('Let its kernels lie on different nodes', 'berth run --multi-node …')]
    : [];

const HELP: Partial<Record<Reason, Help>> = {
  misconfigured: nodesOfGroup,
  no_matching_device: nodesOfGroup,
  too_large_for_any_node: (session, why) => [...spreadIt(session, why), ...nodesOfGroup(session, why)],
  scheduled_start: ({ id }) => [
    action('To start it sooner: stop it, and submit it without --starts-at', `berth stop ${id}`),
  ],
  dependency_pending: ({ dependsOn }) =>
    dependsOn
      .filter(({ state }) => state === 'open')
      .map(({ name, sessionId }) => action(`See where ${name} stands`, `berth why ${sessionId}`)),
  queue_paused: ({ group }) => [action('An operator resumes the queue', `berth group set ${group} paused=false`)],
  user_quota: heldByUser,
  project_quota: heldByProject,
  domain_quota: () => [action('See the limits that bind you', 'berth quota ls')],
  guaranteed_share: ({ group }) => [action('See which GPUs are guaranteed to whom', `berth group show ${group}`)],
  no_schedulable_node: nodesOfGroup,
  insufficient_capacity: spreadIt,
  fragmented: spreadIt,
  delays_reservation: boundIt,
  node_unreachable: ({ id }) => [action('See its attempts', `berth history ${id}`)],
  backoff: ({ id }) => [action('See its failed attempts', `berth history ${id}`)],
};

/** What would help against the reason, most helpful first, then what the ledger offers; each command once. */
export function withHelp(why: Why, session: Session): Why {
  const help = why.reason === null ? [] : (HELP[why.reason]?.(session, why) ?? []);
  const all = [...help, ...why.actions];
  const actions = all.filter(({ command }, index) => all.findIndex((other) => other.command === command) === index);
  return { ...why, actions };
}
