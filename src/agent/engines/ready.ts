import type { OrderResult } from '../../contract/index.js';
import { mappedBytes, type Segment } from '../../engines/segment-codec.js';
import { pause } from '../retry.js';
import { clientOf, type EngineDeps } from './engine-deps.js';
import type { FoundEngine } from './found-engine.js';

export type Failed = Extract<OrderResult, { readonly outcome: 'failed' }>;
export const failed = (message: string, whose: 'node' | 'claim' = 'node'): Failed => ({
  outcome: 'failed',
  message: message.slice(0, 500),
  whose,
});

/** An engine that starts writes its own limit: it is brought back to the one that was asked for. Never raised. */
export async function cap(deps: EngineDeps, { instanceId, anchorKey, segment }: FoundEngine): Promise<void> {
  const { limitBytes } = deps.records.of(instanceId);
  if (limitBytes !== undefined) await deps.keeper(anchorKey).set(segment, { limitBytes, atMost: true });
}

const LOOK_MS = { first: 50, most: 1_000 } as const;

/** Until it serves its model, is given up, or the time is over; kept under its limit all the while. */
export async function untilReady(
  deps: EngineDeps,
  engine: FoundEngine,
  { seconds, signal }: { readonly seconds: number; readonly signal: AbortSignal },
): Promise<'ready' | Failed> {
  const record = deps.records.of(engine.instanceId);
  const client = clientOf(deps, engine);
  const deadline = performance.now() + seconds * 1000;
  for (let pauseMs: number = LOOK_MS.first; ; pauseMs = Math.min(pauseMs * 1.3, LOOK_MS.most)) {
    signal.throwIfAborted();
    if (record.failure !== undefined) return failed(record.failure.message, record.failure.whose);
    await cap(deps, engine).catch(() => undefined); // read back before it is called ready
    if ((await client.isHealthy()) && (await client.serves(engine.modelName))) break;
    if (performance.now() > deadline) return failed(`not ready within ${seconds} s`);
    await pause(pauseMs, signal);
  }
  record.hasServed = true;
  record.state = 'ready';
  return 'ready';
}

/** Capped, and read back: what the answer says of the limit is what stands there. */
export async function readyResult(deps: EngineDeps, engine: FoundEngine, beganMs: number): Promise<OrderResult> {
  await cap(deps, engine);
  const segment = await deps.keeper(engine.anchorKey).get(engine.segment);
  return { outcome: 'ready', ...bytesOf(segment), host: deps.host, port: engine.hostPort, tookMs: tookSince(beganMs) };
}

export const bytesOf = (segment: Segment | undefined) => ({
  limitBytes: segment?.limitBytes ?? null,
  kvUsedBytes: segment === undefined ? null : mappedBytes(segment),
});

export const tookSince = (beganMs: number): number => Math.max(0, Math.round(performance.now() - beganMs));
