import type { Charge } from '../budgets/budget-facts.js';
import { findBudget, isOpenLeaf } from '../budgets/budget-forest.js';
import { maySee } from '../budgets/budget-rights.js';
import { type BudgetSight, budgetSight } from '../budgets/budget-view.js';
import { deviceKinds, milliGpusAsked } from '../budgets/charged-gpus.js';
import { chargedLeaves, type ExplainQuestion, explain } from '../budgets/explain.js';
import type { StoppableSession } from '../budgets/may-be-stopped.js';
import type { OrderedRequest } from '../budgets/order-loads.js';
import type { BudgetExplanation, BudgetId, Plan, Principal, Session, Snapshot } from '../contract/index.js';
import { planPass } from '../scheduler/plan-pass.js';
import type { ApiDeps } from './deps.js';
import { found } from './problem.js';
import { seeSession } from './see-session.js';

/** Read for a foreign session would be dropped again: more are read than are told. */
const CHARGES_READ = 200;

/** The pass that would be planned now, beside the tree's figures and the sessions that were charged. Nothing is written. */
export async function explainBudget(
  { store }: ApiDeps,
  idOrName: string,
  principal: Principal,
): Promise<BudgetExplanation> {
  const session = await seeSession(store.sessions, idOrName, principal);
  const snapshot = found(await store.planning.snapshot(session.group), `group ${session.group}`);
  if (snapshot.budgets === null) return withoutBudgets(session, snapshot);
  const sight = budgetSight(await store.budgets.facts());
  const question = questionOf(session, snapshot, sight);
  const leaves = chargedLeaves(question);
  const charges = leaves.length === 0 ? [] : await store.budgets.charges(leaves, CHARGES_READ);
  return explain(question, charges.filter(mayRead(sight, principal)));
}

const mayRead =
  ({ forest }: BudgetSight, principal: Principal) =>
  ({ budgetId }: Charge): boolean => {
    const row = forest.byId.get(budgetId);
    const isForeign = row?.domainId !== principal.domainId && principal.role !== 'operator';
    return row !== undefined && maySee(forest, row, principal) && !isForeign;
  };

function questionOf(session: Session, snapshot: Snapshot, sight: BudgetSight): ExplainQuestion {
  const plan = planPass(snapshot, snapshot.takenAt);
  const { leaves = [], projects = [] } = snapshot.budgets ?? {};
  return {
    session: { id: session.id, ...stoppable(session, snapshot, sight) },
    group: session.group,
    sight,
    order: orderOf(snapshot, plan),
    chosen: new Set(
      [...plan.placed, ...plan.holds, ...plan.reservations.slice(0, 1)].map(({ sessionId }) => sessionId),
    ),
    held: new Set(
      snapshot.holds.flatMap(({ sessionId }) => (plan.droppedHolds.includes(sessionId) ? [] : [sessionId])),
    ),
    unallocatedUse: new Map<string, number>(
      [...leaves, ...projects].map(({ id, unallocatedUse }) => [id, unallocatedUse]),
    ),
  };
}

/** As the pass considers them; whoever it does not consider is not in line. */
function orderOf({ pending, nodes, budgets }: Snapshot, { order }: Plan): readonly OrderedRequest[] {
  const byId = new Map(pending.map((one) => [one.id, one]));
  const devices = nodes.flatMap((node) => node.devices);
  const kinds = deviceKinds(devices, budgets?.factors ?? {});
  const open = new Set(budgets?.nodes.map(({ id }) => id));
  return (order ?? []).flatMap((id) => {
    const one = byId.get(id);
    if (one === undefined) return [];
    const budgetId = one.budgetId !== null && open.has(one.budgetId) ? one.budgetId : null;
    return [
      {
        id,
        name: one.name,
        budgetId,
        minRuntimeMs: Math.round(one.minRuntimeSeconds * 1000),
        milliGpus: milliGpusAsked(kinds, one),
        priority: one.priority,
        submittedMs: Date.parse(one.submittedAt),
        projectId: one.projectId,
      },
    ];
  });
}

const STATES: Readonly<Partial<Record<Session['state'], StoppableSession['state']>>> = {
  SUBMITTED: 'waiting',
  PENDING: 'waiting',
  SCHEDULED: 'starting',
  PREPARING: 'starting',
  CREATING: 'starting',
  RUNNING: 'running',
  PREEMPTING: 'running',
};

function stoppable(session: Session, { pending, running }: Snapshot, { forest }: BudgetSight): StoppableSession {
  const kept = [...pending, ...running].find(({ id }) => id === session.id);
  const row = session.budget === null ? null : findBudget(forest, session.budget);
  const state = STATES[session.state] ?? 'ended';
  const charges = row !== null && (state !== 'waiting' || isOpenLeaf(forest, row));
  return {
    budgetId: charges ? (row.id satisfies BudgetId) : null,
    minRuntimeMs: Math.round(session.minRuntimeSeconds * 1000),
    state,
    protectedUntilMs: session.protectedUntil === null ? null : Date.parse(session.protectedUntil),
    graceMs: (kept?.gracePeriodSeconds ?? 0) * 1000,
    preemptible: session.preemptible,
  };
}

/** Where fair share does not order there is nothing to compare. */
const withoutBudgets = (session: Session, { takenAt, group }: Snapshot): BudgetExplanation => ({
  sessionId: session.id,
  at: takenAt,
  budget: null,
  allocated: false,
  position: null,
  message: `the group ${group.name} orders by ${group.policy.order}: nothing is charged there; its place: berth queue ${group.name}`,
  forks: [],
  ahead: [],
  charges: [],
  protectedUntil: session.protectedUntil,
  mayBeStoppedBy: `whom the policy of the group lets: berth group show ${group.name}`,
});
