import type { Reason, Session, Why } from '../contract/index.js';

type Action = Why['actions'][number];
type Help = (session: Session) => readonly Action[];

const action = (title: string, command: string): Action => ({ title, command });

/** Several kernels on one node ask for more than the same kernels on several. */
const spreadIt: Help = ({ clusterMode, kernels }) =>
  clusterMode === 'single-node' && kernels.length > 1
    ? [action('Let its kernels lie on different nodes', 'berth run --multi-node …')]
    : [];

const held =
  (filter: (session: Session) => string): Help =>
  (session) => [action('See what holds the quota: each that ends makes room', `berth ps ${filter(session)}`)];

/** What the request itself could change, beside what the ledger offers. */
const HELP: Partial<Record<Reason, Help>> = {
  too_large_for_any_node: spreadIt,
  scheduled_start: ({ id }) => [
    action('To start it sooner: stop it, and submit it without --starts-at', `berth stop ${id}`),
  ],
  user_quota: held(({ user }) => `--user ${user}`),
  project_quota: held(({ project }) => `--project ${project}`),
  insufficient_capacity: spreadIt,
  fragmented: spreadIt,
};

/** In a group that orders by fair share: what it waits for in line is told by its budgets. */
const fairShare = (why: Why, { id, contract }: Session): readonly Action[] =>
  contract !== null && why.class === 'wait'
    ? [action('See which budget goes first, and by which hours', `berth budget explain ${id}`)]
    : [];

/** What the ledger offers against the reason, what the request could change before it; each command once. */
export function withHelp(why: Why, session: Session): Why {
  const help = why.reason === null ? [] : (HELP[why.reason]?.(session) ?? []);
  const all = [...fairShare(why, session), ...help, ...why.actions];
  const actions = all.filter(({ command }, index) => all.findIndex((other) => other.command === command) === index);
  return { ...why, actions };
}
