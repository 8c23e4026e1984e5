import { type OrderResult, segmentName } from '../../contract/index.js';
import { pause } from '../retry.js';
import { clientOf, type EngineDeps, isAsleep } from './engine-deps.js';
import { engineName, type FoundEngine, isRunning } from './found-engine.js';

/** From SIGTERM to SIGKILL: it frees its GPUs and its processes end. */
const GRACE_SECONDS = 20;
const DRAIN_LOOK_MS = 250;
/** An engine whose load cannot be read so often in a row has nothing left to wait for. */
const UNREADABLE_MAX = 8;

/** Drained, ended, removed, with its segment and its port. What is not there is success. */
export async function stopEngine(
  deps: EngineDeps,
  engine: FoundEngine | undefined,
  order: { readonly instanceId: string; readonly drainSeconds: number },
): Promise<OrderResult> {
  if (engine === undefined) {
    deps.ports.release(engineName(order.instanceId));
    await forget(deps, order.instanceId);
    return { outcome: 'gone' };
  }
  stopping(deps, order.instanceId);
  if (isRunning(engine.container) && !(await isAsleep(deps, engine))) await drain(deps, engine, order.drainSeconds);
  await removeEngine(deps, engine, GRACE_SECONDS);
  return { outcome: 'gone' };
}

/** No exit of it is a crash from now on, and no restart of it comes. */
export function stopping({ records }: Pick<EngineDeps, 'records'>, instanceId: string): void {
  const record = records.of(instanceId);
  record.isStopping = true;
  clearTimeout(record.restart);
  record.restart = undefined;
}

async function drain(deps: EngineDeps, engine: FoundEngine, drainSeconds: number): Promise<void> {
  const client = clientOf(deps, engine);
  const deadline = performance.now() + drainSeconds * 1000;
  let unreadable = 0;
  while (performance.now() < deadline) {
    const load = await client.load();
    if (load !== null && load.running + load.waiting === 0) return;
    unreadable = load === null ? unreadable + 1 : 0;
    if (unreadable >= UNREADABLE_MAX || (load === null && !(await client.isHealthy()))) return;
    await pause(DRAIN_LOOK_MS);
  }
}

/** Its segment goes last: until the engine has ended, its limit holds. */
export async function removeEngine(deps: EngineDeps, engine: FoundEngine, graceSeconds: number): Promise<void> {
  const { instanceId, name, anchorKey, segment } = engine;
  stopping(deps, instanceId);
  await deps.containers.stop(name, { graceSeconds, signal: 'SIGTERM' });
  await deps.containers.remove(name);
  await deps
    .keeper(anchorKey)
    .delete(segment || segmentName(instanceId))
    .catch(() => undefined); // an anchor that is gone has taken it along
  deps.ports.release(name);
  await forget(deps, instanceId);
}

/** Nothing of it is left on the node. */
export async function forget({ records, sleepers, crashes }: EngineDeps, instanceId: string): Promise<void> {
  records.forget(instanceId);
  await sleepers.remove(instanceId);
  await crashes.remove(instanceId);
}
