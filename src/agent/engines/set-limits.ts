import { type LimitResult, segmentName } from '../../contract/index.js';
import { mappedBytes, type Segment } from '../../engines/segment-codec.js';
import { LABEL, readKernel, runKey } from '../kernel-container.js';
import type { EngineDeps } from './engine-deps.js';
import { listEngines } from './found-engine.js';
import type { KeeperLink } from './keeper-link.js';

export interface LimitWrites {
  readonly memberSessionId: string;
  readonly turn: number;
  readonly writes: readonly { readonly instanceId: string; readonly toBytes: number }[];
  readonly stage: 'lower' | 'raise';
}

/** The member's anchor does not run here. */
export class AnchorMissing extends Error {
  override readonly name = 'AnchorMissing';
}

interface MemberMemory {
  turn: number;
  /** Lowers of this turn, by instance: what is not in force yet keeps its GPUs from being raised. */
  lowers: Map<string, number>;
}

export type SetLimits = (order: LimitWrites, signal: AbortSignal) => Promise<readonly LimitResult[]>;

/**
 * Writes limits and reads each back. A lower never raises; a raise is only read where a lower of the same turn is not in force
 * on one of its devices, and a turn that is older than one that was seen is only read. Nothing is written after `signal`.
 */
export function createSetLimits(deps: EngineDeps): SetLimits {
  const members = new Map<string, MemberMemory>();
  return async ({ memberSessionId, turn, writes, stage }, signal) => {
    const keeper = deps.keeper(await runningAnchor(deps, memberSessionId));
    const memory = members.get(memberSessionId) ?? { turn, lowers: new Map<string, number>() };
    members.set(memberSessionId, memory);
    const isOld = turn < memory.turn;
    if (turn > memory.turn) Object.assign(memory, { turn, lowers: new Map() });
    const isHeldUp = stage === 'raise' ? await holdUps(deps, keeper, memory) : () => false;
    const results: LimitResult[] = [];
    for (const { instanceId, toBytes } of writes) {
      if (isOld || turn < memory.turn || isHeldUp(instanceId)) {
        results.push(resultOf(instanceId, await keeper.get(segmentName(instanceId))));
        continue;
      }
      signal.throwIfAborted();
      if (stage === 'lower') memory.lowers.set(instanceId, toBytes);
      deps.records.of(instanceId).limitBytes = toBytes;
      const isLower = stage === 'lower';
      const write = { limitBytes: toBytes, create: !isLower, atMost: isLower };
      results.push(resultOf(instanceId, await keeper.set(segmentName(instanceId), write)));
    }
    return results;
  };
}

const resultOf = (instanceId: string, segment: Segment | undefined): LimitResult => ({
  instanceId,
  limitBytes: segment?.limitBytes ?? null,
  kvUsedBytes: segment === undefined ? null : mappedBytes(segment),
});

/**
 * Which engines may not be raised: those that share a device with a lower that is not in force (above what was asked, more in
 * use, or not to be read while the engine is there). One that is not here yet may come to any device.
 */
async function holdUps(
  deps: EngineDeps,
  keeper: KeeperLink,
  { lowers }: MemberMemory,
): Promise<(instanceId: string) => boolean> {
  const doubtful: string[] = [];
  for (const [instanceId, toBytes] of lowers) {
    const segment = await keeper.get(segmentName(instanceId));
    const isInForce = segment !== undefined && segment.limitBytes <= toBytes && mappedBytes(segment) <= toBytes;
    if (!isInForce) doubtful.push(instanceId);
  }
  if (doubtful.length === 0) return () => false;
  const engines = new Map((await listEngines(deps.containers, deps.node)).map((engine) => [engine.instanceId, engine]));
  const held = doubtful.flatMap((instanceId) => engines.get(instanceId) ?? []); // what is gone holds nothing
  return (instanceId) => {
    const own = engines.get(instanceId)?.devices.map(({ id }) => id);
    return held.some(({ devices }) => own === undefined || devices.some(({ id }) => own.includes(id)));
  };
}

/** Of its latest attempt. Throws `AnchorMissing`. */
export async function runningAnchor(deps: Pick<EngineDeps, 'containers' | 'node'>, sessionId: string): Promise<string> {
  const found = await deps.containers.list({ [LABEL.node]: deps.node, [LABEL.session]: sessionId });
  const anchors = found
    .flatMap((container) => readKernel(container) ?? [])
    .filter(({ state, anchorDevices }) => state === 'running' && anchorDevices !== undefined);
  const latest = anchors.toSorted((a, b) => b.attempt - a.attempt)[0];
  if (latest === undefined) throw new AnchorMissing(`the anchor of ${sessionId} does not run on this node`);
  return runKey(latest);
}
