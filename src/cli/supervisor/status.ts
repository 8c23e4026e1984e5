import { readConfigFile } from '../../platform/config-file.js';
import { isRunning } from '../../platform/process-identity.js';
import type { StateDir } from '../../platform/state-dir.js';
import type { ChildStatus } from './child-spec.js';
import { accepts } from './ports.js';
import { answersHttp, healthUrl } from './probes.js';
import { liveRunStatus, readRunStatus } from './run-status.js';

export interface ProcessReport {
  readonly name: string;
  readonly state: string;
  readonly pid: number | null;
  readonly restarts: number;
  readonly since: string;
  /** Asked now; null for what does not run. */
  readonly healthy: boolean | null;
  readonly detail: string;
}

export interface StatusReport {
  readonly state_directory: string;
  readonly phase: 'starting' | 'ready' | 'stopping' | 'stopped' | 'supervisor-lost';
  readonly supervisor_pid: number | null;
  readonly processes: readonly ProcessReport[];
  readonly urls: Readonly<Record<string, string>>;
}

type Ports = Readonly<Record<string, number>>;

/** The engines by a connection, the others by their `/healthz`. */
function isHealthy(child: ChildStatus, ports: Ports): Promise<boolean> {
  const name = child.name.startsWith('control-') ? `${child.name.replace('-', '')}Metrics` : child.name;
  const port = ports[name];
  if (port === undefined) return Promise.resolve(false);
  return child.kind === 'program' ? accepts('127.0.0.1', port) : answersHttp(healthUrl(port));
}

async function report(child: ChildStatus, ports: Ports): Promise<ProcessReport> {
  const { name, restarts, since, detail } = child;
  const isAlive = child.process !== null && isRunning(child.process);
  return {
    ...{ name, restarts, since, detail },
    state: isAlive || child.process === null ? child.state : 'dead',
    pid: isAlive ? (child.process?.pid ?? null) : null,
    healthy: isAlive ? await isHealthy(child, ports) : null,
  };
}

/** What runs of this state directory, asked from the kernel and the processes themselves, not from memory. */
export async function status(state: StateDir): Promise<StatusReport> {
  const noted = readRunStatus(state);
  const live = liveRunStatus(state);
  const ports = readConfigFile(state.configFile)?.ports ?? {};
  const processes = await Promise.all((noted?.children ?? []).map((child) => report(child, ports)));
  const hasLeftovers = processes.some(({ pid }) => pid !== null);
  return {
    state_directory: state.root,
    phase: live?.phase ?? (hasLeftovers ? 'supervisor-lost' : 'stopped'),
    supervisor_pid: live?.supervisor.pid ?? null,
    processes,
    urls: live?.urls ?? {},
  };
}
