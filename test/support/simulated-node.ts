import { Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { NodeActivities, StartFailure } from '../../activities/node/node-activities.js';
import type { KernelId, NodeReport } from '../../src/contract/index.js';
import { nodeQueue } from '../../src/lifecycle/names.js';
import type { Store } from '../../src/store/store.js';
import type { TemporalAddress } from '../../src/temporal/connect.js';
import type { TemporalDoor } from '../../src/temporal/door.js';
import { type SimulatedEngines, simulatedEngines } from './simulated-engines.js';

/** What a simulated node does with the next starts. Real containers stand in the agent's own tests and in the end-to-end ones. */
export interface SimulatedBehaviour {
  /** Its clock says that the deadline has passed, before the workflow's timer does. */
  startsTooLate?: boolean;
  /** Fails the start so. */
  failStart?: StartFailure | undefined;
  /** Keeps each start waiting until it is cancelled. */
  hangStart?: boolean;
  /** One for each start to come, before `failStart`: fails it so, or null lets it run. */
  script?: (StartFailure | null)[];
  /** What it does when it gets notice: exits by itself after so long, with `exitCode`. Without it, it ignores the notice. */
  exitAfterNoticeMs?: number | undefined;
  /** So many notices fail, as when the engine does not answer. */
  failNotices?: number;
  /** So many tries to bring images fail. */
  failWarms?: number;
  /** Exits by itself after this, with this code. */
  exitAfterMs?: number | undefined;
  exitCode?: number;
  failRemovals?: number;
  /** Checks of what starts succeed at once. */
  passesChecks?: boolean;
  /** What runs ends only when its grace is over: the shortest that any removal gave it. */
  ignoresTerm?: boolean;
}

export interface SimulatedNode {
  readonly name: string;
  readonly behaviour: SimulatedBehaviour;
  /** Kernel id → attempt of what "runs". */
  readonly running: ReadonlyMap<string, number>;
  /** Sessions whose removal was asked for. */
  readonly removing: ReadonlySet<string>;
  /** Of the pool members that "run" here. */
  readonly engines: SimulatedEngines;
  /** `start krn…`, `notice krn…`, `remove krn…`, in order. */
  readonly log: readonly string[];
  report(report: NodeReport): Promise<void>;
  stop(): Promise<void>;
}

interface Parts {
  readonly store: Store;
  readonly door: TemporalDoor;
  readonly temporal: TemporalAddress;
}

/** A worker on `node/<name>` that keeps a table instead of containers, and reports to the store as the API would. */
export async function startSimulatedNode({ store, door, temporal }: Parts, name: string): Promise<SimulatedNode> {
  const behaviour: SimulatedBehaviour = {};
  const running = new Map<string, number>();
  const log: string[] = [];
  let lastPort = 20_000;
  const engines = simulatedEngines();
  const report = async (one: NodeReport) => {
    const [result] = await store.nodes.report(name, [one]);
    if (result?.signal) await door.signalSession(result.signal);
    const deploymentId = result?.sessionId ? await store.deployments.deploymentOf(result.sessionId) : null;
    if (deploymentId !== null) await door.kickDeployment(deploymentId);
  };
  const exit = async (kernelId: string, attempt: number, exitCode: number) => {
    if (running.get(kernelId) !== attempt) return; // it has ended, or runs again as a later attempt
    running.delete(kernelId);
    const finishedAt = new Date().toISOString();
    const exited = {
      kind: 'exited',
      exitCode,
      oomKilled: false,
      engineLost: false,
      finishedAt,
      logTail: 'bye',
    } as const;
    await report({ ...exited, kernelId: kernelId as KernelId, attempt });
  };
  const failFor = (what: 'failRemovals' | 'failNotices' | 'failWarms') => {
    const left = behaviour[what] ?? 0;
    if (left === 0) return;
    behaviour[what] = left - 1;
    throw new Error('the engine does not answer');
  };
  /** The shortest grace that any removal gave it is over. */
  const removing = new Set<string>();
  const killedAt = new Map<string, number>();
  const graceOver = async (kernelId: string, graceMs: number) => {
    killedAt.set(kernelId, Math.min(killedAt.get(kernelId) ?? Number.POSITIVE_INFINITY, Date.now() + graceMs));
    while (Date.now() < (killedAt.get(kernelId) ?? 0)) await new Promise((resolve) => setTimeout(resolve, 20));
  };
  const activities: NodeActivities = {
    async startKernels({ attempt, kernels }) {
      for (const { kernelId } of kernels) {
        const order = await store.nodes.launchOrder(name, kernelId as KernelId, attempt);
        if (order === null || behaviour.startsTooLate === true)
          throw ApplicationFailure.create({ type: 'PlacementOver', nonRetryable: true, message: 'over' });
        if (behaviour.hangStart) await heartbeatUntilCancelled();
        const scripted = behaviour.script?.shift();
        const failure = scripted === undefined ? behaviour.failStart : scripted;
        if (failure) {
          const details = [failure];
          throw ApplicationFailure.create({ type: 'StartFailure', nonRetryable: true, message: 'no', details });
        }
        log.push(`start ${kernelId}`);
        running.set(kernelId, attempt);
        const { order: told } = order;
        const ports = told.ports.map((port) => ({ ...port, hostPort: (lastPort += 1) }));
        const of = { kernelId: kernelId as KernelId, attempt };
        if (ports.length > 0) await report({ kind: 'ports', ...of, ports });
        if (told.healthCheck !== null && behaviour.passesChecks === true)
          await report({ kind: 'health', ...of, healthy: true, message: '200' });
        const { exitAfterMs, exitCode = 0 } = behaviour;
        if (exitAfterMs !== undefined)
          setTimeout(() => void exit(kernelId, attempt, exitCode).catch(() => undefined), exitAfterMs);
      }
    },
    async removeKernels({ sessionId, attempt, kernelIds, graceMs }) {
      failFor('failRemovals');
      removing.add(sessionId);
      for (const kernelId of kernelIds) {
        if (behaviour.ignoresTerm === true) await graceOver(kernelId, graceMs);
        if (running.has(kernelId)) await exit(kernelId, attempt, 143);
        log.push(`remove ${kernelId} within ${graceMs} ms`);
      }
    },
    async notice({ attempt, kernelIds, graceMs }) {
      failFor('failNotices');
      for (const kernelId of kernelIds) {
        log.push(`notice ${kernelId} of ${graceMs} ms`);
        const { exitAfterNoticeMs, exitCode = 0 } = behaviour;
        if (exitAfterNoticeMs !== undefined && running.get(kernelId) === attempt)
          setTimeout(() => void exit(kernelId, attempt, exitCode).catch(() => undefined), exitAfterNoticeMs);
      }
    },
    async warm({ images }) {
      failFor('failWarms');
      for (const image of images) log.push(`warm ${image}`);
    },
    presence: heartbeatUntilCancelled,
  };
  const connection = await NativeConnection.connect({ address: temporal.address });
  const worker = await Worker.create({
    connection,
    namespace: temporal.namespace,
    taskQueue: nodeQueue(name),
    activities: { ...activities, ...engines.activities },
    activityTaskPollerBehavior: { type: 'simple-maximum', maximum: 2 },
    maxHeartbeatThrottleInterval: '500ms',
    shutdownGraceTime: '1s',
  });
  const run = worker.run();
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    if (worker.getState() === 'RUNNING') worker.shutdown();
    await run;
    await connection.close();
  };
  return {
    name,
    behaviour,
    removing,
    running,
    engines,
    log,
    report,
    stop: () => (stopping ??= stop()),
  };
}

async function heartbeatUntilCancelled(): Promise<void> {
  const context = Context.current();
  const beat = setInterval(() => context.heartbeat(), 200);
  try {
    await context.cancelled;
  } finally {
    clearInterval(beat);
  }
}
