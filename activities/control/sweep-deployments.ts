import type { ControlDependencies } from './dependencies.js';
import { kickDeployments } from './deployment-work.js';

/** So many kicks are on their way at once. */
const SLICE = 50;

async function kickAll(dependencies: ControlDependencies, deploymentIds: readonly string[]): Promise<void> {
  for (let at = 0; at < deploymentIds.length; at += SLICE)
    await kickDeployments(dependencies, deploymentIds.slice(at, at + SLICE));
}

/** The frequent part: those that changed and have not been looked at since, as their kick was lost. */
export async function sweepChangedDeployments(dependencies: ControlDependencies, olderThanMs: number): Promise<number> {
  const due = await dependencies.store.deployments.due(olderThanMs);
  await kickAll(dependencies, due);
  dependencies.count('sweeper_deployments', due.length);
  return due.length;
}

/** The slow part: each deployment that has not ended has its workflow. One that was ended from outside starts again. */
export async function sweepDeploymentWorkflows(dependencies: ControlDependencies): Promise<void> {
  const { store, door } = dependencies;
  const deployments = await store.deployments.open();
  if (deployments.length === 0) return;
  const open = new Set<string>();
  for await (const deploymentId of door.openDeploymentIds()) open.add(deploymentId);
  await kickAll(
    dependencies,
    deployments.filter((deploymentId) => !open.has(deploymentId)),
  );
}
