import type { Dispatcher } from 'undici';
import type { GpuMemory } from '../../devices/gpu-memory.js';
import type { Containers } from '../../docker/containers.js';
import { ENGINE_ADAPTERS } from '../../engines/engine-adapters.js';
import { createEngineClient, type EngineClient } from '../../engines/engine-client.js';
import type { Logger } from '../../platform/log.js';
import type { AgentApi } from '../api-client.js';
import type { Marks } from '../marks.js';
import type { Ports } from '../ports.js';
import type { ArtifactCache } from './artifact-cache.js';
import type { CrashBook } from './crash-book.js';
import type { EngineRecords } from './engine-records.js';
import type { FoundEngine } from './found-engine.js';
import type { KeeperLink } from './keeper-link.js';

/** What all orders to engines share. */
export interface EngineDeps {
  readonly node: string;
  readonly containers: Containers;
  readonly api: Pick<AgentApi, 'engineOrder' | 'memberLooks'>;
  readonly ports: Ports;
  readonly artifacts: ArtifactCache;
  /** Undefined: this node's GPUs are simulated, and tell what is taken of them in the member's /dev/shm. */
  readonly gpuMemory: GpuMemory | undefined;
  readonly records: EngineRecords;
  /** Engines that sleep, also after the agent was restarted: one that ends asleep is not started again without its memory. */
  readonly sleepers: Marks;
  /** How often each crashed, also before the agent was restarted. */
  readonly crashes: CrashBook;
  /** By the run of the anchor. */
  readonly keeper: (anchorKey: string) => KeeperLink;
  readonly publishAddress: string;
  /** Where the gateway reaches the ports of engines. */
  readonly host: string;
  /** A second of the pauses before restarts, in ms; shorter in tests alone. */
  readonly secondMs: number;
  readonly dispatcher: Dispatcher;
  /** Tells the API of a member at once. */
  readonly tell: (memberSessionId: string) => void;
  readonly log: Logger;
}

export function clientOf(
  { records, publishAddress, dispatcher }: Pick<EngineDeps, 'records' | 'publishAddress' | 'dispatcher'>,
  { instanceId, engine, hostPort }: Pick<FoundEngine, 'instanceId' | 'engine' | 'hostPort'>,
): EngineClient {
  const host = publishAddress === '0.0.0.0' ? '127.0.0.1' : publishAddress;
  const { apiKey } = records.of(instanceId);
  return createEngineClient({ adapter: ENGINE_ADAPTERS[engine], host, port: hostPort, apiKey, dispatcher });
}

/** An engine that has no question for it is taken at the agent's own word. */
export async function isAsleep(deps: EngineDeps, engine: FoundEngine): Promise<boolean> {
  return (await clientOf(deps, engine).isSleeping()) ?? deps.sleepers.has(engine.instanceId);
}
