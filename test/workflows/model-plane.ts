import '../support/quiet-temporal.js';
import type { Client } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { ModelActivities, PoolTurn } from '../../activities/control/model-activities.js';
import { DEFAULT_DURATIONS, type Durations } from '../../src/lifecycle/durations.js';
import { nodeQueue } from '../../src/lifecycle/names.js';
import { connectTemporal } from '../../src/temporal/connect.js';
import { createTemporalDoor } from '../../src/temporal/create-temporal-door.js';
import type { TemporalDoor } from '../../src/temporal/door.js';
import { runWorker } from '../support/control-plane.js';
import { type SimulatedEngines, simulatedEngines } from '../support/simulated-engines.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';

/** Both workflows on a real Temporal, with control activities of the test's own and nodes of simulated engines. */
export interface ModelPlane {
  readonly door: TemporalDoor;
  readonly client: Client;
  readonly temporal: TestTemporal;
  addNode(name: string): Promise<SimulatedEngines>;
  /** Its agent ends; what it was doing is not answered. */
  removeNode(name: string): Promise<void>;
  /** Ends the control worker, and starts another: what it had cached is replayed. */
  replaceWorker(): Promise<void>;
  /** Events of the workflow's present run, by type. */
  eventsOf(workflowId: string): Promise<string[]>;
  stop(): Promise<void>;
}

export async function startModelPlane(
  activities: Partial<ModelActivities>,
  options: { readonly durations?: Partial<Durations>; readonly dynamicConfig?: readonly string[] } = {},
): Promise<ModelPlane> {
  const temporal = await startTestTemporal({ dynamicConfig: options.dynamicConfig ?? [] });
  const address = { address: temporal.address, namespace: temporal.namespace };
  const durations = { ...DEFAULT_DURATIONS, removeRetryMs: 100, ...options.durations };
  const door = createTemporalDoor({ ...address, durations });
  const { client, connection } = connectTemporal(address);
  const work = () =>
    runWorker({
      ...address,
      dependencies: { store: { sessions: {}, nodes: {} } } as never,
      wrap: () => activities as never,
    });
  let stopWorker = await work();
  const nodes = new Map<string, () => Promise<void>>();
  return {
    door,
    client,
    temporal,
    async addNode(name) {
      const simulated = simulatedEngines();
      nodes.set(name, await nodeWorker(temporal, name, simulated));
      return simulated;
    },
    async removeNode(name) {
      await nodes.get(name)?.();
      nodes.delete(name);
    },
    async replaceWorker() {
      await stopWorker();
      stopWorker = await work();
    },
    async eventsOf(workflowId) {
      const { events } = await client.workflow.getHandle(workflowId).fetchHistory();
      return (events ?? []).map(({ eventType }) => String(eventType));
    },
    async stop() {
      for (const close of nodes.values()) await close();
      await stopWorker();
      await door.close();
      await connection.close();
      await temporal.stop();
    },
  };
}

async function nodeWorker(temporal: TestTemporal, name: string, { activities }: SimulatedEngines) {
  const connection = await NativeConnection.connect({ address: temporal.address });
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: nodeQueue(name),
    activities: { ...activities },
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
    maxHeartbeatThrottleInterval: '200ms',
    shutdownGraceTime: '100ms',
    shutdownForceTime: '1s',
  });
  const run = worker.run();
  return async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await run.catch(() => undefined);
    await connection.close();
  };
}

/** A turn that has nothing to do. */
export const quietTurn = (change: Partial<PoolTurn> = {}): PoolTurn => ({
  outcome: 'planned',
  turn: Date.now(),
  limits: [],
  membersDue: false,
  more: false,
  isAtRest: true,
  nextLookMs: null,
  details: 'nothing to do',
  ...change,
});
