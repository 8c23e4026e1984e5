import type { CreateSessionInput } from '../contract/index.js';
import { parseBytes, parseCount, parseCpu } from './amounts.js';
import { usageError } from './cli-error.js';
import type { ProjectConfig } from './config-files.js';
import { defined } from './defined.js';
import { parseEnvironment, parseLabels, parseMount, parsePort } from './run-options.js';
import { devicesOf, type WishOptions, wishesOf } from './session-wishes.js';

/** Options of `berth run`, as written. */
export interface RunOptions extends WishOptions {
  readonly cpu: string;
  readonly mem: string;
  readonly volume?: readonly string[];
  readonly port?: readonly string[];
  readonly env?: readonly string[];
  readonly name?: string;
  readonly detach?: boolean;
  readonly kind: string;
  readonly project?: string;
  readonly group?: string;
  readonly budget?: string;
  readonly workers?: string;
  readonly multiNode?: boolean;
  readonly priority?: string;
  readonly entrypoint?: string;
  readonly workdir?: string;
  readonly healthPath?: string;
  readonly healthPort?: string;
  readonly label?: readonly string[];
  readonly dryRun?: boolean;
  /** False with `--no-wait-requeue`. */
  readonly waitRequeue?: boolean;
}
export interface RunCall {
  readonly image: string;
  readonly command: readonly string[];
  readonly options: RunOptions;
  readonly project: ProjectConfig;
  readonly env: NodeJS.ProcessEnv;
  /** What `+2h` and `18:00` count from. */
  readonly now?: Date;
}

/** The request for a session; limits and defaults are the API's. Throws a usage error that names the option. */
export function sessionSpec({ image, command, options, project, env, now = new Date() }: RunCall): CreateSessionInput {
  return {
    image,
    command: [...command],
    kind: options.kind as NonNullable<CreateSessionInput['kind']>,
    ...defined({ name: options.name, workdir: options.workdir, budget: options.budget }),
    ...defined({ project: options.project ?? project.project, group: options.group ?? project.group }),
    ...kernels(options),
    ...wishesOf(options, now),
    ...(options.entrypoint === undefined ? {} : { entrypoint: [options.entrypoint] }),
    ...(options.priority === undefined ? {} : { priority: parseCount({ name: '--priority', text: options.priority }) }),
    mounts: (options.volume ?? []).map((text) => parseMount({ name: '--volume', text })),
    ports: (options.port ?? []).map((text) => parsePort({ name: '--port', text })),
    environment: parseEnvironment(options.env ?? [], env),
    labels: parseLabels(options.label ?? []),
    ...healthCheck(options),
  };
}

function kernels(options: RunOptions): Pick<CreateSessionInput, 'kernels' | 'clusterMode' | 'gpuModel'> {
  const devices = devicesOf(options);
  const slots = {
    cpuMilli: parseCpu({ name: '--cpu', text: options.cpu }),
    memoryBytes: parseBytes({ name: '--mem', text: options.mem }),
    ...devices.slots,
  };
  const kernel = { slots, ...devices.limit };
  const workers = options.workers === undefined ? 0 : parseCount({ name: '--workers', text: options.workers });
  return {
    kernels: [{ role: 'main', ...kernel }, ...(workers > 0 ? [{ role: 'worker', count: workers, ...kernel }] : [])],
    clusterMode: options.multiNode === true ? 'multi-node' : 'single-node',
    ...devices.model,
  };
}

function healthCheck(options: RunOptions): Pick<CreateSessionInput, 'healthCheck'> {
  if (options.healthPort === undefined) {
    if (options.healthPath !== undefined) throw usageError('--health-path: it needs --health-port PORT too');
    return {};
  }
  const port = parseCount({ name: '--health-port', text: options.healthPort }, 1);
  return { healthCheck: { port, ...defined({ path: options.healthPath }) } };
}
