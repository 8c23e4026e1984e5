import type { GpuApp } from '../../devices/gpu-memory.js';
import { believableResidue } from '../../models/believable-residue.js';
import type { EngineDeps } from './engine-deps.js';
import type { FoundEngine } from './found-engine.js';
import type { SimulatedGpu } from './keeper-link.js';

export type BytesByDevice = Readonly<Record<string, number>>;

/** What the machine, or the simulated GPUs of one member, say at one moment; null: they could not be asked. */
export interface GpuSight {
  readonly apps: readonly GpuApp[] | null;
  readonly simulated: readonly SimulatedGpu[] | null;
}

/** What an engine takes of each of its devices; null: of one of them it is not known. */
export async function memoryOf(
  { containers }: Pick<EngineDeps, 'containers'>,
  engine: FoundEngine,
  sight: GpuSight,
): Promise<BytesByDevice | null> {
  const { devices, name, segment } = engine;
  const pids = devices.some(({ simulated }) => !simulated) ? new Set(await containers.processIds(name)) : new Set();
  const taken: Record<string, number> = {};
  for (const { id, simulated } of devices) {
    const bytes = simulated ? simulatedBytes(sight.simulated, id, segment) : realBytes(sight.apps, id, pids);
    if (bytes === null) return null;
    taken[id] = bytes;
  }
  return taken;
}

function simulatedBytes(gpus: readonly SimulatedGpu[] | null, id: string, segment: string): number | null {
  const gpu = gpus?.find((known) => known.id === id);
  if (gpu === undefined) return null;
  const own = gpu.engines.filter((engine) => engine.segment === segment);
  return own.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** An engine whose processes the driver does not list is not known to take nothing: it may number them in another way. */
function realBytes(apps: readonly GpuApp[] | null, id: string, pids: ReadonlySet<unknown>): number | null {
  const own = (apps ?? []).filter(({ gpu, pid }) => gpu === id && pids.has(pid));
  if (own.length === 0) return null;
  return own.reduce<number | null>((sum, { bytes }) => (sum === null || bytes === null ? null : sum + bytes), 0);
}

export async function measure(deps: EngineDeps, engine: FoundEngine): Promise<BytesByDevice | null> {
  const hasReal = engine.devices.some(({ simulated }) => !simulated);
  const [apps, simulated] = await Promise.all([
    hasReal && deps.gpuMemory !== undefined ? deps.gpuMemory.apps().catch(() => null) : null,
    hasReal
      ? null
      : deps
          .keeper(engine.anchorKey)
          .gpus()
          .catch(() => null),
  ]);
  return memoryOf(deps, engine, { apps, simulated });
}

/** The most that it left on any of its devices; null: not believed, or not known, of one of them. */
export function residueOf(
  { devices, footprintBytes }: FoundEngine,
  before: BytesByDevice | null,
  after: BytesByDevice | null,
): number | null {
  if (after === null || devices.length === 0) return null;
  const residues = devices.map(({ id }) =>
    believableResidue({ footprintBytes, awakeBytes: before?.[id] ?? null, asleepBytes: after[id] ?? null }),
  );
  return residues.reduce<number | null>((most, one) => (most === null || one === null ? null : Math.max(most, one)), 0);
}

/** Of the machine's memory. */
export async function hostBytesOf({ containers }: EngineDeps, { name }: FoundEngine): Promise<number | null> {
  const usage = await containers.stats(name).catch(() => undefined);
  return usage?.memoryBytes ?? null;
}
