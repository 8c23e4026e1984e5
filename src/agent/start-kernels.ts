import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KernelId, LaunchOrder } from '../contract/index.js';
import type { ContainerState } from '../docker/container-state.js';
import type { AgentApi } from './api-client.js';
import {
  containerName,
  type KernelRun,
  LABEL,
  networkName,
  readKernel,
  runKey,
  SOLO_NETWORK,
} from './kernel-container.js';
import { launchToContainer } from './launch-to-container.js';
import { resolveMounts, type Volumes } from './mounts.js';
import type { Outbox } from './outbox.js';
import { pullImages } from './pull-images.js';
import { discardKernel, type RemovalDeps, removeNetworkIfEmpty } from './remove-kernel.js';
import { pause } from './retry.js';
import { PlacementOver, StartRefused, startFailureOf } from './start-failure.js';

export interface StartDeps extends RemovalDeps {
  readonly node: string;
  readonly api: Pick<AgentApi, 'launchOrder'>;
  readonly outbox: Pick<Outbox, 'post'>;
  readonly volumes: Volumes;
  readonly publishAddress: string;
  readonly mpsDirectory: string;
}

export interface KernelBatch {
  readonly sessionId: string;
  readonly attempt: number;
  readonly kernels: readonly { readonly kernelId: string; readonly epoch: number }[];
}

export interface StartProgress {
  readonly signal: AbortSignal;
  readonly onPhase: (phase: string) => void;
}

const PORTS_ACKNOWLEDGED_MS_MAX = 10_000;
/** Longer than an init takes to run its command, on a machine that is loaded. */
const BEGUN_MS_MAX = 1_000;
const BEGUN_PAUSE_MS = 10;

/**
 * Starts all kernels of one session on this node, or none. A run that has its container already keeps it, so a second
 * call goes on where the first one died. Throws `StartRefused` or a `ContainerFailure` for what `startFailureOf` can
 * name, only after what was created is gone; `PlacementOver` and other failures leave that to `removeKernels`, which keeps
 * logs, and to the next try.
 */
export async function startKernels(deps: StartDeps, batch: KernelBatch, progress: StartProgress): Promise<void> {
  const holds = batch.kernels.map(({ kernelId }) => deps.exits.hold({ kernelId, attempt: batch.attempt }));
  let outcome: 'tell' | 'drop' = 'tell';
  try {
    await startAll(deps, batch, progress);
    deps.metrics.started.inc(batch.kernels.length);
  } catch (error) {
    const failure = startFailureOf(error);
    if (progress.signal.aborted || failure === undefined) throw error;
    outcome = 'drop';
    deps.metrics.startFailures.inc({ cause: failure.cause });
    deps.log.warn({ err: error, sessionId: batch.sessionId, cause: failure.cause }, 'a start failed; it is undone');
    await undo(deps, batch);
    throw error;
  } finally {
    for (const free of holds) free(outcome);
  }
}

async function startAll(deps: StartDeps, batch: KernelBatch, { signal, onPhase }: StartProgress): Promise<void> {
  const runs = batch.kernels.map(({ kernelId }) => ({ kernelId, attempt: batch.attempt }));
  onPhase('pulling');
  await pullImages(deps, await fetchOrders(deps, runs, signal), signal);
  onPhase('creating');
  // asked again: the placement may have ended while the image came, and then nothing is created
  const orders = await fetchOrders(deps, runs, signal);
  for (const order of orders) void deps.outbox.post(progressReport(order, 'creating'));
  await ensureNetworkFor(deps, orders);
  for (const order of orders) await ensureContainer(deps, order, signal);
  onPhase('starting');
  const started: ContainerState[] = [];
  for (const order of orders) started.push(await start(deps, order, signal));
  await Promise.all(started.map((container) => untilBegun(deps, container, signal)));
  await refuseBadCommands(deps, started);
  await reportPorts(deps, started, signal);
}

/** By rank: rank 0, whom the others look for, starts first. */
async function fetchOrders(
  { api }: StartDeps,
  runs: readonly KernelRun[],
  signal: AbortSignal,
): Promise<readonly LaunchOrder[]> {
  const orders = await Promise.all(runs.map((run) => api.launchOrder(run, signal)));
  for (const order of orders) refuseLate(order);
  return orders.sort((a, b) => a.rank - b.rank);
}

function refuseLate({ kernelId, attempt, deadline }: LaunchOrder): void {
  if (Date.now() <= Date.parse(deadline)) return;
  throw new PlacementOver(`the deadline to start ${kernelId} (attempt ${attempt}) has passed`);
}

async function ensureNetworkFor({ containers, node }: StartDeps, orders: readonly LaunchOrder[]): Promise<void> {
  const [first] = orders;
  if (first === undefined) return;
  const labels = { [LABEL.node]: node, [LABEL.session]: first.sessionId };
  if (first.size > 1) await containers.ensureNetwork(networkName(first.sessionId), { labels });
  else await containers.ensureNetwork(SOLO_NETWORK, { labels: {}, isolated: true });
}

/** What a first try created is kept: it has its ports, and what an order says of one attempt never changes. */
async function ensureContainer(deps: StartDeps, order: LaunchOrder, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const key = runKey(order);
  const existing = await deps.containers.inspect(containerName(order));
  const found = existing && readKernel(existing);
  if (found !== undefined && found.epoch === order.epoch) return deps.ports.adopt(key, found.ports);
  const mounts = await resolveMounts(deps.volumes, order.mounts);
  const ports = await deps.ports.take(key, order.ports);
  refuseLate(order);
  const { node, publishAddress, mpsDirectory } = deps;
  const spec = launchToContainer(order, { node, publishAddress, mpsDirectory, mounts, ports });
  await refuseWithoutMps(order, mpsDirectory);
  await deps.containers.ensureCreated(spec);
}

/** A container without the control daemon would run all the same, and nothing would keep it to its share. */
async function refuseWithoutMps({ devices }: LaunchOrder, mpsDirectory: string): Promise<void> {
  if (!devices.some(({ share, sharing, simulated }) => share !== null && sharing === 'mps' && !simulated)) return;
  const isThere = await stat(join(mpsDirectory, 'pipe', 'control')).catch(() => undefined);
  if (isThere !== undefined) return;
  const message = 'the MPS control daemon of this node does not run';
  throw new StartRefused({ cause: 'device-unavailable', whose: 'platform', message });
}

async function start(deps: StartDeps, order: LaunchOrder, signal: AbortSignal): Promise<ContainerState> {
  signal.throwIfAborted();
  const state = await deps.containers.ensureStarted(containerName(order));
  const kernel = readKernel(state);
  if (kernel !== undefined) deps.probes.watch(kernel);
  return state;
}

/**
 * The engine's init says only after the start that a command is not there: without this one such start in eight would pass for a
 * program that ran and ended with 127.
 */
async function untilBegun({ containers }: StartDeps, { name }: ContainerState, signal: AbortSignal): Promise<void> {
  const untilMs = performance.now() + BEGUN_MS_MAX;
  while (!(await containers.hasBegun(name)) && performance.now() < untilMs) await pause(BEGUN_PAUSE_MS, signal);
}

async function refuseBadCommands({ containers }: StartDeps, started: readonly ContainerState[]): Promise<void> {
  const states = await Promise.all(started.map(({ name }) => containers.inspect(name)));
  for (const state of states) {
    const failure = state && (await containers.diagnoseExit(state));
    if (failure !== undefined) throw failure;
  }
}

/** Told before the start is done, so that a session that runs has its ports; a slow API holds it up for a moment only. */
async function reportPorts({ outbox }: StartDeps, started: readonly ContainerState[], signal: AbortSignal) {
  const reports = started.flatMap((state) => {
    const kernel = readKernel(state);
    if (kernel === undefined || kernel.ports.length === 0) return [];
    const { kernelId, attempt, ports } = kernel;
    return [{ kind: 'ports' as const, kernelId, attempt, ports: [...ports] }];
  });
  if (reports.length === 0) return;
  const told = Promise.all(reports.map((report) => outbox.post(report)));
  await Promise.race([told, pause(PORTS_ACKNOWLEDGED_MS_MAX, signal)]);
}

async function undo(deps: StartDeps, { sessionId, attempt, kernels }: KernelBatch): Promise<void> {
  for (const { kernelId } of kernels) await discardKernel(deps, { kernelId, attempt });
  await removeNetworkIfEmpty(deps, sessionId);
}

function progressReport({ kernelId, attempt, image }: LaunchOrder, phase: 'creating') {
  const id: KernelId = kernelId;
  return { kind: 'progress' as const, kernelId: id, attempt, phase, message: `creating a container of ${image}` };
}
