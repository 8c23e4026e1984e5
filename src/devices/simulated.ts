import { DeviceFailure, type DeviceProvider, type FoundDevice } from './device-provider.js';

/** `count` devices of one kind, as a node without GPUs declares them in its configuration. */
export interface SimulatedDevices {
  readonly model: string;
  readonly memoryBytes: number;
  readonly count: number;
}

/** Far above any machine; a slip of the pen in a configuration must not fill the ledger. */
const DEVICES_MAX = 1024;

/** The same configuration gives the same ids each time; every model says that it is simulated. */
export function createSimulatedProvider(declared: readonly SimulatedDevices[]): DeviceProvider {
  const devices = simulatedDevices(declared);
  return { discover: async () => devices };
}

export function simulatedDevices(declared: readonly SimulatedDevices[]): readonly FoundDevice[] {
  const kinds = declared.flatMap((kind) => Array.from({ length: checkedCount(kind) }, () => kind));
  if (kinds.length > DEVICES_MAX) throw new DeviceFailure(`more than ${DEVICES_MAX} simulated devices`);
  return kinds.map(({ model, memoryBytes }, index) => ({
    id: `sim-${index}`,
    index,
    model: model.includes('simulated') ? model : `simulated ${model}`,
    memoryBytes,
    simulated: true,
    healthy: true,
  }));
}

function checkedCount({ model, memoryBytes, count }: SimulatedDevices): number {
  const sound = Number.isSafeInteger(count) && count >= 0 && Number.isSafeInteger(memoryBytes) && memoryBytes > 0;
  if (!sound || count > DEVICES_MAX)
    throw new DeviceFailure(`simulated device "${model}" needs whole, positive numbers`);
  return count;
}
