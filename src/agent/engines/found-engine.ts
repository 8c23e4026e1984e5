import { ENGINES, type Engine, type EngineOrder } from '../../contract/index.js';
import type { ContainerState } from '../../docker/container-state.js';
import type { Containers } from '../../docker/containers.js';
import { type AnchorDevice, LABEL, runKey } from '../kernel-container.js';

/** What an engine's container carries beside `berth.node`: no label of a kernel, so that it is never taken for one. */
export const ENGINE_LABEL = {
  instance: 'berth.instance',
  member: 'berth.member',
  anchor: 'berth.member-anchor',
  engine: 'berth.engine',
  model: 'berth.model',
  devices: 'berth.devices',
  footprint: 'berth.footprint',
  segment: 'berth.segment',
  artifact: 'berth.artifact',
  hostPort: 'berth.host-port',
  startDeadline: 'berth.start-deadline',
} as const;

/** An engine as its container tells it, whichever agent made it. */
export interface FoundEngine {
  readonly instanceId: string;
  readonly name: string;
  readonly memberSessionId: string;
  /** The run of its member's anchor: `<kernel>-<attempt>`. */
  readonly anchorKey: string;
  readonly engine: Engine;
  readonly modelName: string;
  readonly devices: readonly AnchorDevice[];
  readonly footprintBytes: number;
  readonly segment: string;
  /** In the node's cache; empty: a folder. */
  readonly artifact: string;
  readonly hostPort: number;
  readonly startDeadlineSeconds: number;
  readonly container: ContainerState;
}

export const engineName = (instanceId: string): string => `berth-engine-${instanceId}`;
export const anchorName = (anchorKey: string): string => `berth-${anchorKey}`;
export const isRunning = ({ status }: ContainerState): boolean => status === 'running' || status === 'paused';

export interface EngineSide {
  readonly node: string;
  readonly artifact: string;
  readonly hostPort: number;
}

export function engineLabels(order: EngineOrder, side: EngineSide): Readonly<Record<string, string>> {
  const devices = order.devices.map(({ id, memoryBytes, simulated }): AnchorDevice => ({ id, memoryBytes, simulated }));
  return {
    [LABEL.node]: side.node,
    [ENGINE_LABEL.instance]: order.instanceId,
    [ENGINE_LABEL.member]: order.memberSessionId,
    [ENGINE_LABEL.anchor]: runKey({ kernelId: order.anchorKernelId, attempt: order.anchorAttempt }),
    [ENGINE_LABEL.engine]: order.engine,
    [ENGINE_LABEL.model]: order.modelName,
    [ENGINE_LABEL.devices]: JSON.stringify(devices),
    [ENGINE_LABEL.footprint]: String(order.maximumFootprintBytes),
    [ENGINE_LABEL.segment]: order.ipcName,
    [ENGINE_LABEL.artifact]: side.artifact,
    [ENGINE_LABEL.hostPort]: String(side.hostPort),
    [ENGINE_LABEL.startDeadline]: String(order.startDeadlineSeconds),
  };
}

/** Undefined for a container that is no engine of this version's. */
export function readEngine(container: ContainerState): FoundEngine | undefined {
  const text = (label: string): string => container.labels[label] ?? '';
  const instanceId = text(ENGINE_LABEL.instance);
  const engine = ENGINES.find((kind) => kind === text(ENGINE_LABEL.engine));
  const hostPort = Number(text(ENGINE_LABEL.hostPort));
  if (instanceId === '' || engine === undefined || !Number.isInteger(hostPort)) return undefined;
  return {
    instanceId,
    name: container.name,
    memberSessionId: text(ENGINE_LABEL.member),
    anchorKey: text(ENGINE_LABEL.anchor),
    engine,
    modelName: text(ENGINE_LABEL.model),
    devices: devicesOf(text(ENGINE_LABEL.devices)),
    footprintBytes: Number(text(ENGINE_LABEL.footprint)),
    segment: text(ENGINE_LABEL.segment),
    artifact: text(ENGINE_LABEL.artifact),
    hostPort,
    startDeadlineSeconds: Number(text(ENGINE_LABEL.startDeadline)) || 600,
    container,
  };
}

function devicesOf(text: string): readonly AnchorDevice[] {
  try {
    return JSON.parse(text) as readonly AnchorDevice[];
  } catch {
    return [];
  }
}

/** This node's engines, ended ones too. */
export async function listEngines(containers: Pick<Containers, 'list'>, node: string): Promise<readonly FoundEngine[]> {
  const found = await containers.list({ [LABEL.node]: node, [ENGINE_LABEL.instance]: '' });
  return found.flatMap((container) => readEngine(container) ?? []);
}
