import type { Deployment } from '../contract/index.js';
import type { DeploymentProblem } from '../store/deployment-store.js';
import { invalid, notFound, problem } from './problem.js';

/** What was done, or the store's problem as the caller reads it. */
export function mustBeDone<T extends object>(done: T | DeploymentProblem, name: string): T {
  if (!('problem' in done)) return done;
  const { problem: what } = done;
  switch (what) {
    case 'refused': {
      const { field, message } = done;
      if (field === 'name' || field === 'modelName')
        throw problem('conflict', message, {
          errors: [{ pointer: `/${field}`, message }],
          hint: 'choose another name',
        });
      throw invalid(`/${field}`, message);
    }
    case 'ending':
      throw problem('conflict', `deployment ${name} ends`, {
        hint: `wait until its replicas have left: berth deploy get ${name}; then apply it again`,
      });
    case 'no-rollout':
      throw problem('conflict', `no rollout of ${name} is under way`, { hint: `berth deploy rollout status ${name}` });
    case 'no-revision':
      throw problem('conflict', `${name} has no such revision to go back to`, {
        hint: `berth deploy revisions ${name}`,
      });
    case 'not-paused':
      throw problem('conflict', `the rollout of ${name} is not paused`, {
        hint: `berth deploy rollout status ${name}`,
      });
    case 'nothing-to-promote':
      throw problem('conflict', `no step of ${name} waits to be promoted`, {
        hint: `berth deploy rollout status ${name}`,
      });
    default:
      throw notFound(`deployment ${name}`);
  }
}

/** With the whole address of its endpoint. */
export const deploymentIn = (gatewayUrl: string, deployment: Deployment): Deployment => ({
  ...deployment,
  url: new URL(`/deployments/${deployment.name}`, gatewayUrl).href,
});
