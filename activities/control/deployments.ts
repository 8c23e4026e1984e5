import type { ControlDependencies } from './dependencies.js';
import type { DeploymentActivities } from './deployment-activities.js';
import { deploymentTurn } from './deployment-turn.js';
import { deploymentWork } from './deployment-work.js';

export const createDeploymentActivities = (dependencies: ControlDependencies): DeploymentActivities => ({
  deploymentTurn: (deploymentId) => deploymentTurn(dependencies, deploymentId),
  deploymentWork: (deploymentId) => deploymentWork(dependencies, deploymentId),
});
