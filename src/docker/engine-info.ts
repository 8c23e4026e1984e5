import type Docker from 'dockerode';
import { asFailure } from './failures.js';

export interface EngineInfo {
  /** Stays the same over restarts of the engine. */
  readonly id: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly architecture: string;
  readonly cpus: number;
  readonly memoryBytes: number;
  readonly runtimes: readonly string[];
}

interface RawInfo {
  readonly ID: string;
  readonly NCPU: number;
  readonly MemTotal: number;
  readonly Runtimes?: Readonly<Record<string, unknown>>;
}

export async function engineInfo(docker: Docker): Promise<EngineInfo> {
  const [info, version] = await asFailure(() => Promise.all([docker.info() as Promise<RawInfo>, docker.version()]));
  return {
    id: info.ID,
    version: version.Version,
    apiVersion: version.ApiVersion,
    architecture: version.Arch,
    cpus: info.NCPU,
    memoryBytes: info.MemTotal,
    runtimes: Object.keys(info.Runtimes ?? {}).sort(),
  };
}
