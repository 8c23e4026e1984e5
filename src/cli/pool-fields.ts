import type { BodyOf } from '../sdk/index.js';
import { parseBytes, parseCount, parseCpu, parseDurationSeconds, parseGpus } from './amounts.js';
import { usageError } from './cli-error.js';
import type { ProjectConfig } from './config-files.js';
import { defined } from './defined.js';
import { parseEnvironment } from './run-options.js';

type CreatePool = BodyOf<'createPool'>;
type PolicyPatch = NonNullable<BodyOf<'changePool'>['policy']>;

export interface PolicyOptions {
  readonly placement?: string;
  readonly sleepAfter?: string;
  readonly release?: boolean;
  readonly keep?: boolean;
  readonly roomAfter?: string;
}
export interface CreatePoolOptions extends PolicyOptions {
  readonly image: string;
  readonly gpus: string;
  readonly members: string;
  readonly cpu: string;
  readonly mem: string;
  readonly engine?: string;
  readonly project?: string;
  readonly group?: string;
  readonly allow?: readonly string[];
  readonly env?: readonly string[];
}

/** What is named of the policy; `none` takes a time away. */
export function policyOf({ placement, sleepAfter, release, keep, roomAfter }: PolicyOptions): PolicyPatch {
  if (placement !== undefined && placement !== 'spread' && placement !== 'pack') {
    throw usageError(`--placement: "${placement}" is none of spread, pack`);
  }
  if (release === true && keep === true) throw usageError('--release and --keep exclude each other');
  return {
    ...defined({ placement }),
    ...(sleepAfter === undefined ? {} : { sleepAfterSeconds: secondsOrNone('--sleep-after', sleepAfter) }),
    ...(release === true ? { noWakeReserveWhileAsleep: true } : {}),
    ...(keep === true ? { noWakeReserveWhileAsleep: false } : {}),
    ...(roomAfter === undefined ? {} : { sleepToMakeRoomAfterSeconds: secondsOrNone('--room-after', roomAfter) }),
  };
}

export const secondsOrNone = (name: string, text: string): number | null =>
  text === 'none' ? null : parseDurationSeconds({ name, text });

export interface CreatePoolCall {
  readonly name: string;
  readonly options: CreatePoolOptions;
  readonly project: ProjectConfig;
  readonly env: NodeJS.ProcessEnv;
}

/** The request for a pool; limits and defaults are the API's. Throws a usage error that names the option. */
export function poolSpec({ name, options, project, env }: CreatePoolCall): CreatePool {
  const { count, model } = parseGpus({ name: '--gpus', text: options.gpus });
  if (options.engine !== undefined && options.engine !== 'vllm' && options.engine !== 'sglang') {
    throw usageError(`--engine: "${options.engine}" is none of vllm, sglang`);
  }
  return {
    name,
    ...defined({ engine: options.engine }),
    ...defined({ project: options.project ?? project.project, group: options.group ?? project.group }),
    members: parseCount({ name: '--members', text: options.members }),
    member: {
      image: options.image,
      gpus: count,
      ...defined({ gpuModel: model }),
      cpuMilli: parseCpu({ name: '--cpu', text: options.cpu }),
      memoryBytes: parseBytes({ name: '--mem', text: options.mem }),
      environment: parseEnvironment(options.env ?? [], env),
    },
    policy: policyOf(options),
    projects: [...(options.allow ?? [])],
  };
}

export interface ChangePoolOptions extends PolicyOptions {
  readonly allow?: readonly string[];
  readonly disallow?: readonly string[];
}

/** What `berth pool set` sends: projects are those that may use it now, with the named ones added and taken away. */
export function poolChange(
  present: { readonly projects: readonly string[] },
  options: ChangePoolOptions,
): BodyOf<'changePool'> {
  const policy = policyOf(options);
  const { allow = [], disallow = [] } = options;
  const unknown = disallow.find((project) => !present.projects.includes(project));
  if (unknown !== undefined) {
    throw usageError(`--disallow: ${unknown} is none of ${present.projects.join(', ') || 'no projects'}`);
  }
  const projects = [...new Set([...present.projects, ...allow])].filter((project) => !disallow.includes(project));
  return {
    ...(Object.keys(policy).length > 0 ? { policy } : {}),
    ...(allow.length + disallow.length > 0 ? { projects } : {}),
  };
}
