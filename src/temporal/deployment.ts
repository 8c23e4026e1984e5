import type { Connection } from '@temporalio/client';
import { DEPLOYMENT_NAME } from '../lifecycle/names.js';

const TRIES = 120;
const WAIT_MS = 250;

/** The build that new and upgraded workflows run on; null when none is set, and then nothing runs at all. */
export async function currentVersion(connection: Connection, namespace: string): Promise<string | null> {
  try {
    const { workerDeploymentInfo: info } = await connection.workflowService.describeWorkerDeployment({
      namespace,
      deploymentName: DEPLOYMENT_NAME,
    });
    return info?.routingConfig?.currentDeploymentVersion?.buildId ?? null;
  } catch {
    return null; // the deployment appears with its first poller
  }
}

/**
 * Makes this build the current one, once its pollers are there. Without a current version a versioned queue runs nothing
 * and says nothing. Idempotent: the worker that starts last decides.
 */
export async function setCurrentVersion(connection: Connection, namespace: string, buildId: string): Promise<void> {
  let last: unknown;
  for (let tries = 0; tries < TRIES; tries += 1) {
    if ((await currentVersion(connection, namespace)) === buildId) return;
    try {
      await connection.workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName: DEPLOYMENT_NAME,
        buildId,
        ignoreMissingTaskQueues: true,
        identity: `berth-control@${buildId}`,
      });
    } catch (error) {
      last = error;
    }
    await new Promise((resolve) => setTimeout(resolve, WAIT_MS));
  }
  throw new Error(`build ${buildId} did not become the current version of ${DEPLOYMENT_NAME}`, { cause: last });
}
