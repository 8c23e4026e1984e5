import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { ControlActivities } from '../activities/control/control-activities.js';
import { createControlActivities } from '../activities/control/create-control-activities.js';
import type { ControlDependencies } from '../activities/control/dependencies.js';
import { CONTROL_QUEUE, DEPLOYMENT_NAME, groupWorkflowId } from '../src/lifecycle/names.js';
import { connectTemporal, type TemporalAddress } from '../src/temporal/connect.js';
import { setCurrentVersion } from '../src/temporal/deployment.js';
import { registerSearchAttributes } from '../src/temporal/search-attributes.js';
import { forgetLastWorker } from '../src/temporal/sticky.js';

export interface ControlWorkerOptions extends TemporalAddress {
  readonly buildId: string;
  readonly dependencies: ControlDependencies;
  /** 177 KB each; a workflow beyond them is replayed at its next wake, in some 30 ms. */
  readonly maxCachedWorkflows?: number;
  /** Tests fail a step once, before or after its effect. */
  readonly wrap?: (activities: ControlActivities) => ControlActivities;
}

const asTheyAre = (activities: ControlActivities): ControlActivities => activities;

/** The bundle that the build made; from source (tests) it is bundled at the start, which takes two seconds. */
function workflowSource(): { workflowBundle: { codePath: string } } | { workflowsPath: string } {
  const built = join(import.meta.dirname, '..', 'workflow-bundle.js');
  if (existsSync(built)) return { workflowBundle: { codePath: built } };
  return { workflowsPath: join(import.meta.dirname, '..', 'workflows', 'index.ts') };
}

/**
 * A control worker that is ready to run: search attributes are registered first, since an unknown one fails a workflow's
 * task for ever. The build becomes the current version once this worker polls: `becomeCurrent`, after `run` has begun.
 */
export async function createControlWorker(options: ControlWorkerOptions): Promise<{
  readonly worker: Worker;
  readonly connection: NativeConnection;
  readonly becomeCurrent: () => Promise<void>;
  /** Everybody waits for the groups, and the worker before this one may have died with them. To be called before `becomeCurrent`. */
  readonly takeOver: (groups: readonly string[]) => Promise<void>;
}> {
  const { address, namespace, buildId, dependencies, maxCachedWorkflows = 500, wrap = asTheyAre } = options;
  const { connection: client } = connectTemporal({ address, namespace });
  await registerSearchAttributes(client, namespace);
  const connection = await NativeConnection.connect({ address });
  const worker = await Worker.create({
    connection,
    namespace,
    taskQueue: CONTROL_QUEUE,
    ...workflowSource(),
    activities: { ...wrap(createControlActivities(dependencies)) },
    maxCachedWorkflows,
    stickyQueueScheduleToStartTimeout: '2s',
    shutdownGraceTime: '20s',
    workerDeploymentOptions: {
      useWorkerVersioning: true,
      version: { deploymentName: DEPLOYMENT_NAME, buildId },
      defaultVersioningBehavior: 'AUTO_UPGRADE',
    },
  });
  return {
    worker,
    connection,
    takeOver: (groups) => forgetLastWorker(client, namespace, groups.map(groupWorkflowId)),
    becomeCurrent: () => setCurrentVersion(client, namespace, buildId).finally(() => client.close()),
  };
}
