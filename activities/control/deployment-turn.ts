import { type DeploymentPlan, planDeployment } from '../../src/deployments/plan-deployment.js';
import { asksForKey } from '../../src/deployments/preset-command.js';
import type { MetricAnswer } from '../../src/deployments/scale-turn.js';
import { turnDetails } from '../../src/deployments/turn-details.js';
import type { DeploymentSnapshot } from '../../src/store/deployment-store.js';
import type { ControlDependencies } from './dependencies.js';
import type { DeploymentTurnReport } from './deployment-activities.js';

const NOTHING = { workDue: false, isAtRest: true, nextLookMs: null } as const;
const GONE = {
  ended: 'It has ended, and its last replica is gone',
  missing: 'There is no such deployment',
} as const;

/**
 * One turn: Prometheus is asked outside of the lock; snapshot, decision and commit are one transaction. Run again it decides from
 * what stands then.
 */
export async function deploymentTurn(
  dependencies: ControlDependencies,
  deploymentId: string,
): Promise<DeploymentTurnReport> {
  const { deployments } = dependencies.store;
  const answers = await askPrometheus(dependencies, deploymentId);
  let last: { readonly snapshot: DeploymentSnapshot; readonly plan: DeploymentPlan } | undefined;
  const { outcome } = await deployments.turn(
    deploymentId,
    (snapshot) => {
      const plan = planDeployment(snapshot, answers);
      last = { snapshot, plan };
      return plan.turn;
    },
    (sessionId, template) => (asksForKey(template) ? dependencies.sealApiKey(sessionId) : null),
  );
  dependencies.count('deployment_turns');
  if (outcome !== 'lives' || last === undefined)
    return { ...NOTHING, outcome, details: outcome === 'lives' ? '' : GONE[outcome] };
  const { snapshot, plan } = last;
  return {
    outcome,
    workDue: plan.isWorkDue,
    isAtRest: plan.isAtRest,
    nextLookMs: plan.nextMs === null ? null : Math.max(0, plan.nextMs - snapshot.nowMs),
    details: turnDetails(snapshot, plan),
  };
}

async function askPrometheus(
  { store, prometheus }: ControlDependencies,
  deploymentId: string,
): Promise<ReadonlyMap<string, MetricAnswer>> {
  const queries = await store.deployments.queries(deploymentId);
  const asked = queries.map(async ({ rule, query }) => [rule, await prometheus(query)] as const);
  return new Map(await Promise.all(asked));
}
