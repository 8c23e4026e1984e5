import type { CreateSessionInput } from '../contract/index.js';
import { parseBytes, parseCount, parseCpu, parseDurationSeconds, parseGpus } from './amounts.js';
import { usageError } from './cli-error.js';
import type { ProjectConfig } from './config-files.js';
import { parseEnvironment, parseLabels, parseMount, parsePort } from './run-options.js';

/** Options of `berth run`, as written. */
export interface RunOptions {
  readonly gpus?: string;
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
  readonly workers?: string;
  readonly multiNode?: boolean;
  readonly priority?: string;
  readonly maxRuntime?: string;
  readonly startDeadline?: string;
  readonly grace?: string;
  readonly entrypoint?: string;
  readonly workdir?: string;
  readonly healthPath?: string;
  readonly healthPort?: string;
  readonly label?: readonly string[];
  readonly dryRun?: boolean;
}
export interface RunCall {
  readonly image: string;
  readonly command: readonly string[];
  readonly options: RunOptions;
  readonly project: ProjectConfig;
  readonly env: NodeJS.ProcessEnv;
}

/** The request for a session; limits and defaults are the API's. Throws a usage error that names the option. */
export function sessionSpec({ image, command, options, project, env }: RunCall): CreateSessionInput {
  return {
    image,
    command: [...command],
    kind: options.kind as NonNullable<CreateSessionInput['kind']>,
    ...defined({ name: options.name, workdir: options.workdir }),
    ...defined({ project: options.project ?? project.project, group: options.group ?? project.group }),
    ...kernels(options),
    ...timing(options),
    ...(options.entrypoint === undefined ? {} : { entrypoint: [options.entrypoint] }),
    ...(options.priority === undefined ? {} : { priority: parseCount({ name: '--priority', text: options.priority }) }),
    mounts: (options.volume ?? []).map((text) => parseMount({ name: '--volume', text })),
    ports: (options.port ?? []).map((text) => parsePort({ name: '--port', text })),
    environment: parseEnvironment(options.env ?? [], env),
    labels: parseLabels(options.label ?? []),
    ...healthCheck(options),
  };
}

function defined<Fields extends object>(fields: Fields): { [K in keyof Fields]?: Exclude<Fields[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof Fields]?: Exclude<Fields[K], undefined>;
  };
}

function kernels(options: RunOptions): Pick<CreateSessionInput, 'kernels' | 'clusterMode' | 'gpuModel'> {
  const gpus = options.gpus === undefined ? undefined : parseGpus({ name: '--gpus', text: options.gpus });
  const slots = {
    cpuMilli: parseCpu({ name: '--cpu', text: options.cpu }),
    memoryBytes: parseBytes({ name: '--mem', text: options.mem }),
    gpuCount: gpus?.count ?? 0,
  };
  const workers = options.workers === undefined ? 0 : parseCount({ name: '--workers', text: options.workers });
  return {
    kernels: [{ role: 'main', slots }, ...(workers > 0 ? [{ role: 'worker', count: workers, slots }] : [])],
    clusterMode: options.multiNode === true ? 'multi-node' : 'single-node',
    ...defined({ gpuModel: gpus?.model }),
  };
}

function timing(options: RunOptions): Partial<CreateSessionInput> {
  const seconds = (name: string, text: string | undefined): number | undefined =>
    text === undefined ? undefined : parseDurationSeconds({ name, text });
  return defined({
    maxRuntimeSeconds: seconds('--max-runtime', options.maxRuntime),
    startDeadlineSeconds: seconds('--start-deadline', options.startDeadline),
    gracePeriodSeconds: seconds('--grace', options.grace),
  });
}

function healthCheck(options: RunOptions): Pick<CreateSessionInput, 'healthCheck'> {
  if (options.healthPort === undefined) {
    if (options.healthPath !== undefined) throw usageError('--health-path: it needs --health-port PORT too');
    return {};
  }
  const port = parseCount({ name: '--health-port', text: options.healthPort }, 1);
  return { healthCheck: { port, ...defined({ path: options.healthPath }) } };
}
