import { readFile } from 'node:fs/promises';
import { DeviceFailure, type DeviceLoad, type DeviceProvider, type FoundDevice } from './device-provider.js';
import type { ConfiguredSharing } from './sharing-rules.js';

/** `count` devices of one kind, as a node without GPUs declares them in its configuration. */
export interface SimulatedDevices {
  readonly model: string;
  readonly memoryBytes: number;
  readonly count: number;
  /** What a share of them is promised; `none` when unset. Nothing is really kept to it: they are simulated. */
  readonly sharing?: ConfiguredSharing | undefined;
  /** Each device is cut into these instances, which stand in its place. Together they fit into its memory. */
  readonly mig?: readonly SimulatedInstances[] | undefined;
}

export interface SimulatedInstances {
  /** As NVIDIA writes it: `3g.20gb`. */
  readonly profile: string;
  readonly memoryBytes: number;
  readonly count: number;
}

/** Far above any machine; a slip of the pen in a configuration must not fill the ledger. */
const DEVICES_MAX = 1024;

/**
 * The same configuration gives the same ids each time; every model says that it is simulated. Their load is simulated too:
 * what `loadFile` says, as JSON: `{"sim-0": {"busyPercent": 80, "memoryBytes": 1000}}`, read anew each time. Without the
 * file, and for devices that it does not name, none.
 */
export function createSimulatedProvider(declared: readonly SimulatedDevices[], loadFile?: string): DeviceProvider {
  const devices = simulatedDevices(declared);
  return {
    discover: async () => devices,
    faults: async () => [],
    loads: async () => {
      const set = loadFile === undefined ? {} : await readLoads(loadFile);
      return devices.map(({ id }) => ({ id, busyPercent: 0, memoryBytes: 0, ...set[id] }));
    },
  };
}

type Load = Partial<Omit<DeviceLoad, 'id'>>;
const isAmount = (value: unknown, most: number): boolean =>
  value === undefined || value === null || (typeof value === 'number' && value >= 0 && value <= most);

async function readLoads(file: string): Promise<Readonly<Record<string, Load>>> {
  const text = await readFile(file, 'utf8').catch(() => '{}');
  try {
    const set = JSON.parse(text) as Record<string, Load>;
    const isSound = Object.values(set).every(
      ({ busyPercent, memoryBytes }) => isAmount(busyPercent, 100) && isAmount(memoryBytes, Number.MAX_SAFE_INTEGER),
    );
    if (isSound) return set;
  } catch {
    // as below
  }
  throw new DeviceFailure('the file of simulated loads cannot be used');
}

export function simulatedDevices(declared: readonly SimulatedDevices[]): readonly FoundDevice[] {
  const kinds = declared.flatMap((kind) => repeat(kind, checkedCount(kind)));
  const devices = kinds.flatMap((kind, place) => devicesOf(kind, `sim-parent-${place}`));
  if (devices.length > DEVICES_MAX) throw new DeviceFailure(`more than ${DEVICES_MAX} simulated devices`);
  return devices.map((device, index) => ({ id: `sim-${index}`, index, ...device }));
}

type Unnumbered = Omit<FoundDevice, 'id' | 'index'>;

function devicesOf({ model, memoryBytes, sharing = 'none', mig }: SimulatedDevices, parent: string): Unnumbered[] {
  const name = model.includes('simulated') ? model : `simulated ${model}`;
  const whole = { model: name, memoryBytes, simulated: true, healthy: true, sharing };
  if (mig === undefined) return [whole];
  const instances = mig.flatMap((kind) => repeat(kind, checkedCount({ model: kind.profile, ...kind })));
  const together = instances.reduce((sum, instance) => sum + instance.memoryBytes, 0);
  if (together > memoryBytes) throw new DeviceFailure(`the instances of simulated device "${model}" exceed its memory`);
  return instances.map((instance) => ({
    ...whole,
    model: `${name} MIG ${instance.profile}`,
    memoryBytes: instance.memoryBytes,
    sharing: 'mig',
    migParent: parent,
  }));
}

const repeat = <T>(kind: T, count: number): T[] => Array.from({ length: count }, () => kind);

type Counted = Pick<SimulatedDevices, 'model' | 'memoryBytes' | 'count'>;

function checkedCount({ model, memoryBytes, count }: Counted): number {
  const sound = Number.isSafeInteger(count) && count >= 0 && Number.isSafeInteger(memoryBytes) && memoryBytes > 0;
  if (!sound || count > DEVICES_MAX)
    throw new DeviceFailure(`simulated device "${model}" needs whole, positive numbers`);
  return count;
}
