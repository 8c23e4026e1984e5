import type { EngineLook, MemberLook } from '../../contract/index.js';
import type { GpuApp } from '../../devices/gpu-memory.js';
import type { Segment } from '../../engines/segment-codec.js';
import { clientOf, type EngineDeps, isAsleep } from './engine-deps.js';
import { hostBytesOf, memoryOf } from './engine-memory.js';
import { type FoundEngine, isRunning } from './found-engine.js';
import type { SimulatedGpu } from './keeper-link.js';
import { bytesOf } from './ready.js';

/** What is asked once for all engines of a member. null: not to be had. */
export interface MemberSight {
  readonly segments: ReadonlyMap<string, Segment> | null;
  readonly simulated: readonly SimulatedGpu[] | null;
  readonly apps: readonly GpuApp[] | null;
}

export async function sightOf(deps: EngineDeps, anchorKey: string | undefined): Promise<Omit<MemberSight, 'apps'>> {
  if (anchorKey === undefined) return { segments: null, simulated: null };
  const keeper = deps.keeper(anchorKey);
  const [segments, simulated] = await Promise.all([
    keeper.list().catch(() => null),
    deps.gpuMemory === undefined ? keeper.gpus().catch(() => null) : null,
  ]);
  return { segments, simulated };
}

type Seen = Pick<EngineLook, 'state' | 'running' | 'waiting' | 'completed' | 'message'>;
const UNREAD = { running: null, waiting: null, completed: null } as const;

/** One engine as it is. What cannot be read is null, never 0. */
export async function lookAt(deps: EngineDeps, engine: FoundEngine, sight: MemberSight): Promise<EngineLook> {
  const { instanceId } = engine;
  const { restarts } = deps.crashes.of(instanceId); // before it is asked: a run that ends meanwhile is not the next one
  const isOn = isRunning(engine.container);
  const [seen, memoryBytes, hostBytes] = await Promise.all([
    isOn ? ask(deps, engine) : ofEnded(deps, engine),
    isOn ? memoryOf(deps, engine, sight) : null,
    isOn ? hostBytesOf(deps, engine) : null,
  ]);
  const record = deps.records.of(instanceId);
  if (seen.state === 'ready' && memoryBytes !== null) record.awakeBytes = memoryBytes;
  const segment = bytesOf(sight.segments?.get(engine.segment));
  return { instanceId, ...seen, ...segment, memoryBytes, hostBytes, restarts };
}

function ofEnded({ records }: EngineDeps, { instanceId, container }: FoundEngine): Seen {
  const { state, failure, restart } = records.of(instanceId);
  if (restart !== undefined || state === 'restarting') return { state: 'restarting', ...UNREAD, message: 'it crashed' };
  if (container.status === 'created') return { state: 'starting', ...UNREAD, message: null };
  return { state: 'exited', ...UNREAD, message: failure?.message ?? `it has ended with ${container.exitCode ?? '?'}` };
}

async function ask(deps: EngineDeps, engine: FoundEngine): Promise<Seen> {
  const record = deps.records.of(engine.instanceId);
  const client = clientOf(deps, engine);
  if (!(await client.isHealthy())) {
    const message = record.hasServed ? 'it does not answer' : null;
    return { state: record.hasServed ? 'unreachable' : 'starting', ...UNREAD, message };
  }
  if (!record.hasServed && !(await client.serves(engine.modelName)))
    return { state: 'starting', ...UNREAD, message: null };
  record.hasServed = true;
  const [asleep, load] = await Promise.all([isAsleep(deps, engine), client.load()]);
  const message = load === null ? 'its load could not be read' : null;
  return { state: asleep ? 'sleeping' : 'ready', ...(load ?? UNREAD), message };
}

export type Device = MemberLook['devices'][number];
