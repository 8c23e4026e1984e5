import { cpus, totalmem } from 'node:os';
import type { Device, RegisterNode } from '../contract/index.js';
import type { FoundDevice } from '../devices/device-provider.js';
import type { EngineInfo } from '../docker/engine-info.js';

export interface MachineSettings {
  readonly agentUrl: string;
  readonly agentVersion: string;
  /** What is shared out; the machine's own when unset. */
  readonly cpus?: number | undefined;
  readonly memoryBytes?: number | undefined;
}

/** What the contract takes; the latest come first. */
const IMAGES_MAX = 500;

const ARCHITECTURES: Readonly<Record<string, RegisterNode['architecture']>> = {
  amd64: 'amd64',
  x86_64: 'amd64',
  arm64: 'arm64',
  aarch64: 'arm64',
};

/** What the agent says of its machine. Throws for an engine of an architecture that Berth does not place on. */
export function registration(
  settings: MachineSettings,
  engine: EngineInfo,
  { found, images }: { readonly found: readonly FoundDevice[]; readonly images: readonly string[] },
): RegisterNode {
  const architecture = ARCHITECTURES[engine.architecture];
  if (architecture === undefined) throw new Error(`architecture ${engine.architecture} is not known`);
  return {
    architecture,
    capacity: {
      cpuMilli: (settings.cpus ?? (engine.cpus || cpus().length)) * 1000,
      memoryBytes: settings.memoryBytes ?? (engine.memoryBytes || totalmem()),
    },
    devices: found.flatMap((device) => contractDevice(device) ?? []),
    agentUrl: settings.agentUrl,
    address: new URL(settings.agentUrl).hostname.replace(/^\[|\]$/g, ''),
    engineId: engine.id,
    agentVersion: settings.agentVersion,
    images: images.slice(0, IMAGES_MAX),
  };
}

/** A device whose memory is not known cannot be placed on, and the contract has no place for it. */
function contractDevice(device: FoundDevice): Device | undefined {
  const { id, index, model, memoryBytes, simulated, healthy, sharing, migParent = null } = device;
  if (memoryBytes < 1) return undefined;
  return { id, index, model: model.slice(0, 128), memoryBytes, simulated, healthy, sharing, parentId: migParent };
}
