import { join } from 'node:path';
import type { AgentAdapters, AgentSettings } from '../agent.js';
import type { AgentApi } from '../api-client.js';
import { listenAddress } from '../listen-address.js';
import { openMarks } from '../marks.js';
import type { Ports } from '../ports.js';
import { createArtifactCache } from './artifact-cache.js';
import type { ArtifactSettings } from './artifact-files.js';
import { openCrashBook } from './crash-book.js';
import { createEngineManager, type EngineManager } from './engine-manager.js';
import { listEngines } from './found-engine.js';

export interface ArtifactsSettings {
  readonly artifacts?: ArtifactSettings | undefined;
  /** 500 GiB when unset. */
  readonly artifactBytesMax?: number | undefined;
}

const BYTES_MAX_DEFAULT = 500 * 2 ** 30;
const PUBLIC: ArtifactSettings = {
  huggingFaceEndpoint: 'https://huggingface.co',
  s3: { endpoint: 'https://s3.amazonaws.com', region: 'us-east-1' },
};

export interface EngineSide {
  readonly settings: AgentSettings;
  readonly adapters: AgentAdapters;
  readonly api: AgentApi;
  readonly ports: Ports;
}

/** The part of an agent that runs engines; nothing runs yet. */
export async function assembleEngines({ settings, adapters, api, ports }: EngineSide): Promise<EngineManager> {
  const { node, stateDir, volumes, engines = {} } = settings;
  const { containers, gpuMemory, log } = adapters;
  const artifacts = createArtifactCache({
    dir: join(stateDir, 'artifacts'),
    bytesMax: engines.artifactBytesMax ?? BYTES_MAX_DEFAULT,
    settings: engines.artifacts ?? PUBLIC,
    volumes,
    inUse: async () => new Set((await listEngines(containers, node)).map(({ artifact }) => artifact)),
    log,
  });
  const given = {
    node,
    containers,
    api,
    ports,
    artifacts,
    gpuMemory,
    sleepers: await openMarks(join(stateDir, 'sleepers')),
    crashes: await openCrashBook(join(stateDir, 'crashes')),
    publishAddress: listenAddress(settings),
    host: new URL(settings.agentUrl).hostname.replace(/^\[|\]$/g, ''),
    log,
  };
  return createEngineManager(given, engines);
}
