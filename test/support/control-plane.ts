import { execFileSync } from 'node:child_process';
import type { Client } from '@temporalio/client';
import './quiet-temporal.js';
import type { ControlActivities } from '../../activities/control/control-activities.js';
import type { ControlDependencies } from '../../activities/control/dependencies.js';
import type { CreateSessionInput, Session, SessionId } from '../../src/contract/index.js';
import { DEFAULT_DURATIONS, type Durations } from '../../src/lifecycle/durations.js';
import { newKernelId } from '../../src/platform/ids.js';
import type { Store } from '../../src/store/store.js';
import { connectTemporal } from '../../src/temporal/connect.js';
import { createTemporalDoor } from '../../src/temporal/create-temporal-door.js';
import type { TemporalDoor } from '../../src/temporal/door.js';
import { type ControlWorkerOptions, createControlWorker } from '../../workers/control-worker.js';
import { joinNode, type Ledger, openLedger, submit, unsound } from '../store/ledger.js';
import { eventually } from './process.js';
import { sealing } from './sealing.js';
import { type SimulatedNode, startSimulatedNode } from './simulated-node.js';
import { startTestTemporal, type TestTemporal } from './temporal.js';

/** A whole control plane on real Postgres and Temporal, with a simulated node `n1` of 4 CPUs and 4 devices. */
export interface ControlPlane extends Ledger {
  readonly door: TemporalDoor;
  readonly temporal: TestTemporal;
  readonly node: SimulatedNode;
  readonly dependencies: ControlDependencies;
  /** A further simulated node; it is stopped with the rest. */
  addNode(name: string, gpus?: number): Promise<SimulatedNode>;
  /** Submits as the API does, and waits until it is admitted. */
  submit(request?: Partial<CreateSessionInput>): Promise<SessionId>;
  session(id: SessionId): Promise<Session>;
  /** The session once it is in one of the states. */
  until(id: SessionId, ...states: string[]): Promise<Session>;
  readonly client: Client;
  /** How often each kind of event stands in the history of the session's workflow. */
  historyCounts(id: SessionId): Promise<Record<string, number>>;
  /** Nothing is held, and every invariant of the ledger stands. */
  settled(): Promise<void>;
  stop(): Promise<void>;
}

export interface ControlPlaneOptions {
  readonly durations?: Partial<Durations>;
  readonly temporal?: TestTemporal;
  /** Wraps the store or the door, to fail a step. */
  readonly bend?: (parts: { store: Store; door: TemporalDoor }) => { store: Store; door: TemporalDoor };
  readonly worker?: boolean;
  readonly wrap?: (activities: ControlActivities) => ControlActivities;
}

const SHORT: Durations = { ...DEFAULT_DURATIONS, slowNetMs: 2_000, nodeScheduleToStartMs: 5_000, removeRetryMs: 200 };

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const ledger = await openLedger();
  const temporal = options.temporal ?? (await startTestTemporal());
  const address = { address: temporal.address, namespace: temporal.namespace };
  const { client } = connectTemporal(address);
  const door = createTemporalDoor({ ...address, durations: { ...SHORT, ...options.durations } });
  const bent = options.bend?.({ store: ledger.store, door }) ?? { store: ledger.store, door };
  const log = { warn: () => undefined };
  const dependencies = { ...bent, newKernelId, ...sealing, log, count: () => undefined };
  const stopWorker =
    options.worker === false
      ? async () => undefined
      : await runWorker({ dependencies, ...address, ...(options.wrap && { wrap: options.wrap }) });
  const node = await startSimulatedNode({ store: ledger.store, door, temporal: address }, 'n1');
  const further: SimulatedNode[] = [];
  const session = async (id: SessionId) => {
    const found =
      (await ledger.store.sessions.get(id, ledger.admin)) ??
      (await ledger.store.sessions.getSubmitted(id, ledger.admin));
    if (found === null) throw new Error(`no session ${id}`);
    return found;
  };
  return {
    ...ledger,
    door,
    temporal,
    node,
    dependencies,
    session,
    client,
    async addNode(name, gpus = 4) {
      await joinNode(ledger.store, name, gpus);
      const added = await startSimulatedNode({ store: ledger.store, door, temporal: address }, name);
      further.push(added);
      return added;
    },
    async historyCounts(id) {
      await eventually('its workflow ends', async () => (await door.sessionWorkflowState(id)) === 'closed');
      const { events } = JSON.parse(historyOf(temporal, `session/${id}`)) as { events: { eventType: string }[] };
      const counts: Record<string, number> = {};
      for (const { eventType } of events) {
        const name = eventType.replace('EVENT_TYPE_', '');
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts;
    },
    async submit(request) {
      const id = await submit(ledger, request);
      const answer = await door.submitSession(id, 20_000, { user: 'admin', project: 'default', group: 'default' });
      if (answer.outcome === 'refused') throw new Error(answer.refusal.detail);
      return id;
    },
    async until(id, ...states) {
      await eventually(
        `${id} is ${states.join(' or ')}`,
        async () => states.includes((await session(id)).state),
        60_000,
      );
      return session(id);
    },
    async settled() {
      await eventually('nothing is held', async () => {
        const { nodes } = (await ledger.store.planning.snapshot('default')) ?? { nodes: [] };
        return nodes.every(({ devices }) =>
          devices.every(({ heldBy, shares }) => heldBy === null && shares.length === 0),
        );
      });
      const broken = await unsound(ledger.store);
      if (Object.keys(broken).length > 0) throw new Error(`the ledger is unsound: ${JSON.stringify(broken)}`);
    },
    async stop() {
      await Promise.all([node, ...further].map((one) => one.stop()));
      await stopWorker();
      await door.close();
      await ledger.store.close();
      if (options.temporal === undefined) await temporal.stop();
    },
  };
}

/** The history as JSON by Temporal's own program: what `Worker.runReplayHistory` reads. */
export function historyOf({ program, address }: TestTemporal, workflowId: string): string {
  const args = ['workflow', 'show', '--workflow-id', workflowId, '--output', 'json', '--address', address];
  return execFileSync(program, args, { encoding: 'utf8', maxBuffer: 2 ** 26 });
}

export async function runWorker(options: Omit<ControlWorkerOptions, 'buildId'>): Promise<() => Promise<void>> {
  const { worker, connection, becomeCurrent } = await createControlWorker({ ...options, buildId: 'test' });
  const run = worker.run();
  await becomeCurrent();
  return async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await run;
    await connection.close();
  };
}
