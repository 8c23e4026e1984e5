import { join } from 'node:path';
import { NativeConnection, Worker } from '@temporalio/worker';
import { connectTemporal } from '../../../src/temporal/connect.js';
import {
  FLOOR_CONTROL,
  FLOOR_DEPLOYMENT,
  FLOOR_NODE,
  type FloorControl,
  type FloorNews,
  type FloorNode,
} from './floor-names.js';

/** A worker of the floor: `control` or `node`, a process of its own with the settings of the real one. */
const [role = '', address = ''] = process.argv.slice(2);
const namespace = 'default';
const { client, connection: rpc } = connectTemporal({ address, namespace });
const tell = (news: FloorNews): void => void process.send?.(news);
process.on('disconnect', () => process.exit(0));

const waiting = new Set<string>();
let isDirty = false;
/** One kick for many, as the real one. */
async function kick(): Promise<void> {
  if (isDirty) return;
  isDirty = true;
  await client.workflow.signalWithStart('floorGroup', {
    workflowId: 'floor-group',
    taskQueue: FLOOR_CONTROL,
    signal: 'kick',
  });
}
const signal = (id: string, name: string) => client.workflow.getHandle(`floor/${id}`).signal(name);

const control: FloorControl = {
  async admit({ id, isPlanned }) {
    if (!isPlanned) return;
    waiting.add(id);
    await kick();
  },
  begin: async () => undefined,
  markRunning: async (id) => tell({ kind: 'running', id, at: Date.now() }),
  async finish(id) {
    tell({ kind: 'finished', id });
    if (waiting.size > 0) await kick();
  },
  async plan() {
    isDirty = false;
    const placed = [...waiting];
    waiting.clear();
    await Promise.all(placed.map((id) => signal(id, 'placed')));
  },
};

const node: FloorNode = {
  startKernels: async (id) => void setTimeout(() => void signal(id, 'exited'), 0),
  removeKernels: async () => undefined,
};

const connection = await NativeConnection.connect({ address });
const common = { connection, namespace, shutdownGraceTime: '1s' } as const;
const worker =
  role === 'control'
    ? await Worker.create({
        ...common,
        taskQueue: FLOOR_CONTROL,
        workflowsPath: join(import.meta.dirname, 'floor-workflow.ts'),
        activities: { ...control },
        maxCachedWorkflows: 500,
        stickyQueueScheduleToStartTimeout: '2s',
        workerDeploymentOptions: {
          useWorkerVersioning: true,
          version: { deploymentName: FLOOR_DEPLOYMENT, buildId: 'floor' },
          defaultVersioningBehavior: 'AUTO_UPGRADE',
        },
      })
    : await Worker.create({
        ...common,
        taskQueue: FLOOR_NODE,
        activities: { ...node },
        activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
        maxConcurrentActivityTaskExecutions: 200,
      });
const running = worker.run();
if (role === 'control') await becomeCurrent();
tell({ kind: 'ready' });
await running;

/** Until its pollers are known the server refuses: asked again. */
async function becomeCurrent(): Promise<void> {
  for (;;) {
    try {
      await rpc.workflowService.setWorkerDeploymentCurrentVersion({
        namespace,
        deploymentName: FLOOR_DEPLOYMENT,
        buildId: 'floor',
        ignoreMissingTaskQueues: true,
      });
      return;
    } catch {
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  }
}
