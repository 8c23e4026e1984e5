import type { EngineOrder } from '../../contract/index.js';
import { toDeviceRequest } from '../../devices/to-device-request.js';
import type { ContainerSpec } from '../../docker/container-spec.js';
import { ENGINE_ADAPTERS } from '../../engines/engine-adapters.js';
import { runKey, SOLO_NETWORK } from '../kernel-container.js';
import type { Artifact } from './artifact-cache.js';
import { anchorName, engineLabels, engineName } from './found-engine.js';

export interface EngineContainerSide {
  readonly node: string;
  readonly publishAddress: string;
  readonly hostPort: number;
  readonly artifact: Artifact;
}

/** One engine beside its member's anchor: the same order, artifact and port give the same container. */
export function engineContainer(order: EngineOrder, side: EngineContainerSide): ContainerSpec {
  const { artifact, hostPort } = side;
  const process = ENGINE_ADAPTERS[order.engine].process({ ...order, segment: order.ipcName, modelPath: artifact.path });
  const devices = toDeviceRequest(
    order.devices.map((device) => ({ ...device, share: null })),
    { mpsDirectory: '' }, // whole devices: nothing is shared by MPS
  );
  const [program = '', ...args] = process.command;
  return {
    name: engineName(order.instanceId),
    labels: engineLabels(order, { node: side.node, artifact: artifact.key, hostPort }),
    image: order.image,
    entrypoint: [program],
    command: args,
    environment: {
      ...process.environment,
      TINI_KILL_PROCESS_GROUP: '1', // the engine's init passes SIGTERM on to the whole group
      BERTH_INSTANCE_ID: order.instanceId,
    },
    cpuMilli: order.cpuMilli,
    memoryBytes: order.memoryBytes,
    ipc: `container:${anchorName(runKey({ kernelId: order.anchorKernelId, attempt: order.anchorAttempt }))}`,
    mounts: [{ source: artifact.source, target: artifact.target, readOnly: true }],
    ports: [{ name: 'engine', containerPort: process.port, hostPort, hostAddress: side.publishAddress }],
    ...(devices !== undefined && { devices: devices.request }),
    network: { name: SOLO_NETWORK, aliases: [], extraHosts: {} },
  };
}
