import type { EngineOrder, OrderResult } from '../../contract/index.js';
import type { RegistryAuth } from '../../docker/container-spec.js';
import { ContainerFailure } from '../../docker/failures.js';
import { runKey, SOLO_NETWORK } from '../kernel-container.js';
import { serverOf } from '../pull-images.js';
import { PlacementOver, StartRefused } from '../start-failure.js';
import { ArtifactFailure } from './artifact-failure.js';
import { engineContainer } from './engine-container.js';
import type { EngineDeps } from './engine-deps.js';
import { anchorName, engineName, type FoundEngine, isRunning, readEngine } from './found-engine.js';
import { failed, readyResult, untilReady } from './ready.js';
import { forget, removeEngine } from './stop-engine.js';

export interface OrderProgress {
  readonly signal: AbortSignal;
  readonly onPhase: (phase: string) => void;
}

/**
 * Image, artifact, segment with the limit, container, ready, limit read back. A second call goes on where the first one was
 * cut; a start that fails leaves nothing behind. `gone`: the ledger has no such engine any more.
 */
export async function startEngine(deps: EngineDeps, instanceId: string, progress: OrderProgress): Promise<OrderResult> {
  const beganMs = performance.now();
  try {
    const order = await deps.api.engineOrder(instanceId, progress.signal);
    const engine = await running(deps, order, progress);
    progress.onPhase('loading');
    const wait = { seconds: order.startDeadlineSeconds, signal: progress.signal };
    const outcome = await untilReady(deps, engine, wait);
    if (outcome === 'ready') return await readyResult(deps, engine, beganMs);
    await removeEngine(deps, engine, 0);
    return outcome;
  } catch (error) {
    if (error instanceof PlacementOver) return { outcome: 'gone' };
    const failure = progress.signal.aborted ? undefined : understood(error);
    if (failure === undefined) throw error;
    deps.log.warn({ err: error, instanceId }, 'an engine could not be started');
    await discard(deps, instanceId);
    return failure;
  }
}

/** Undefined: tried again. An engine (of containers) that is away says nothing of this order. */
function understood(error: unknown): ReturnType<typeof failed> | undefined {
  if (error instanceof ArtifactFailure) return failed(error.message, error.whose);
  if (error instanceof StartRefused) return failed(error.message);
  if (error instanceof RangeError) return failed(error.message);
  if (!(error instanceof ContainerFailure) || error.kind === 'engine_unavailable') return undefined;
  return failed(error.message, error.whose === 'user' ? 'claim' : 'node');
}

/** The container, running: the one of an earlier try, or a new one under its limit. */
async function running(deps: EngineDeps, order: EngineOrder, { signal, onPhase }: OrderProgress): Promise<FoundEngine> {
  const known = deps.records.of(order.instanceId);
  Object.assign(known, { apiKey: order.apiKey, isStopping: false });
  const before = await found(deps, order.instanceId);
  if (before !== undefined && (isRunning(before.container) || known.restart !== undefined)) return before;
  if (before !== undefined) await removeTry(deps, before);
  Object.assign(deps.records.of(order.instanceId), { apiKey: order.apiKey, failure: undefined });
  const anchorKey = runKey({ kernelId: order.anchorKernelId, attempt: order.anchorAttempt });
  const anchor = await deps.containers.inspect(anchorName(anchorKey));
  if (anchor === undefined || !isRunning(anchor)) {
    throw new StartRefused({ cause: 'engine-failed', whose: 'platform', message: "the member's anchor does not run" });
  }
  onPhase('pulling');
  await pull(deps, order, signal);
  onPhase('fetching the artifact');
  const artifact = await deps.artifacts.ensure(order.artifactUrl, order.artifactSha256, signal);
  await deps.api.engineOrder(order.instanceId, signal); // it may have been called off while the artifact came
  onPhase('creating');
  await limit(deps, order, anchorKey);
  const [port] = await deps.ports.take(engineName(order.instanceId), [{ name: 'engine', containerPort: 0 }]);
  const { node, publishAddress } = deps;
  await deps.containers.ensureNetwork(SOLO_NETWORK, { labels: {}, isolated: true });
  signal.throwIfAborted();
  const spec = engineContainer(order, { node, publishAddress, hostPort: port?.hostPort ?? 0, artifact });
  await deps.containers.ensureCreated(spec);
  const started = await deps.containers.ensureStarted(spec.name);
  const engine = readEngine(started);
  if (engine === undefined) throw new ContainerFailure('engine_error', `${spec.name} has lost its labels`);
  return engine;
}

/** Of a start that was cut off nobody knows how far it came: it goes, and its crashes count on. */
async function removeTry(deps: EngineDeps, engine: FoundEngine): Promise<void> {
  const history = deps.crashes.of(engine.instanceId);
  await removeEngine(deps, engine, 0);
  if (history.crashes.length > 0) await deps.crashes.put(engine.instanceId, history);
}

/** The segment is there, at the ledger's limit or below, before the engine is. */
async function limit(deps: EngineDeps, order: EngineOrder, anchorKey: string): Promise<void> {
  const record = deps.records.of(order.instanceId);
  const { ipcName, limitBytes } = order;
  const segment = await deps.keeper(anchorKey).set(ipcName, { limitBytes, create: true, atMost: true });
  record.limitBytes = Math.min(limitBytes, segment?.limitBytes ?? limitBytes);
  if (segment !== undefined && segment.limitBytes <= limitBytes) return;
  const message = 'the limit of its KV cache could not be set before its start';
  throw new StartRefused({ cause: 'engine-failed', whose: 'platform', message });
}

async function pull({ containers }: EngineDeps, order: EngineOrder, signal: AbortSignal): Promise<void> {
  if ((await containers.imageDigest(order.image)) !== undefined) return;
  const { registryCredentials } = order;
  const auth = registryCredentials && ({ ...registryCredentials, ...serverOf(order.image) } satisfies RegistryAuth);
  await containers.pull(order.image, { signal, ...(auth !== null && { auth }) });
}

export async function found({ containers }: EngineDeps, instanceId: string): Promise<FoundEngine | undefined> {
  const container = await containers.inspect(engineName(instanceId));
  return container && readEngine(container);
}

async function discard(deps: EngineDeps, instanceId: string): Promise<void> {
  const engine = await found(deps, instanceId);
  if (engine !== undefined) await removeEngine(deps, engine, 0);
  else {
    deps.ports.release(engineName(instanceId));
    await forget(deps, instanceId);
  }
}
