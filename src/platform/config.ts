import { z } from 'zod';
import { CONTROL_NAMES, CONTROL_VARIABLES } from './config-control.js';
import { ENGINE_NAMES, ENGINE_VARIABLES } from './config-engines.js';

/** A process was started with an environment it cannot use. Names variables and rules, never values: some are secret. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
  readonly problems: readonly string[];
  constructor(problems: readonly string[]) {
    super(`unusable configuration: ${problems.join('; ')}`);
    this.problems = problems;
  }
}

const text = z.string().min(1);
const port = z.coerce.number().int().min(1).max(65_535);
const json = <T extends z.ZodType>(schema: T) =>
  z
    .string()
    .transform((value, context): unknown => {
      try {
        return JSON.parse(value);
      } catch {
        context.addIssue({ code: 'custom', message: 'is not JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);

const configuredSharing = z.enum(['mps', 'memory-limit', 'none']);

/** `[{"model","memoryBytes","count"}]`; `sharing` of shares of them; `mig` cuts each into instances that stand in its place. */
export const simulatedGpus = z.strictObject({
  model: text.max(64),
  memoryBytes: z.int().positive(),
  count: z.int().min(0).max(64),
  sharing: configuredSharing.optional(),
  mig: z
    .array(
      z.strictObject({
        profile: text.max(32),
        memoryBytes: z.int().positive(),
        count: z.int().min(1).max(64),
      }),
    )
    .min(1)
    .max(16)
    .optional(),
});

/** `GPU-…=mps,0=memory-limit,all=none`: each device at most once. */
const sharingRules = z.string().transform((value, context) => {
  const rules: Record<string, z.output<typeof configuredSharing>> = {};
  for (const rule of value.split(',').map((part) => part.trim())) {
    const [, device = '', mode] = /^(all|\d{1,4}|GPU-[0-9A-Za-z-]{1,64})=([a-z-]+)$/.exec(rule) ?? [];
    const sharing = configuredSharing.safeParse(mode);
    if (!sharing.success || Object.hasOwn(rules, device)) {
      context.addIssue({
        code: 'custom',
        message: 'must look like all=none,0=mps,GPU-…=memory-limit, each device once',
      });
      return z.NEVER;
    }
    rules[device] = sharing.data;
  }
  return rules;
});

/** A program and its arguments; no shell reads them. */
const command = json(z.array(text).min(1).max(64));

const portRange = z
  .string()
  .regex(/^\d{1,5}-\d{1,5}$/, 'must look like 30000-30999')
  .transform((value) => {
    const [first = 0, last = 0] = value.split('-').map(Number);
    return { first, last };
  })
  .refine(({ first, last }) => first >= 1 && first <= last && last <= 65_535, 'must rise within 1-65535');

/**
 * Every environment variable of Berth's processes, once. `berth up` sets them for its children; where the
 * processes run apart, their unit files do. Files named here hold the secrets: a value in an environment is readable
 * by more than one would think.
 */
const VARIABLES = {
  /** Postgres: `postgres://user:password@host:port/database`. Never given to a node agent. */
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }),
  /** host:port of Temporal's front end. */
  BERTH_TEMPORAL_ADDRESS: text,
  BERTH_TEMPORAL_NAMESPACE: text.default('default'),
  /** Version of the workflow code, for Temporal's worker deployment. */
  BERTH_BUILD_ID: text.default('unversioned'),

  /** Where API and storage proxy listen. They speak plain HTTP: other machines reach them through a proxy with TLS. */
  BERTH_LISTEN_HOST: text.default('127.0.0.1'),
  BERTH_API_PORT: port,
  /** Where others reach the API, without a trailing slash. */
  BERTH_API_URL: z.url({ protocol: /^https?$/ }),
  BERTH_STORAGE_PORT: port,
  /** Where clients reach the storage proxy. */
  BERTH_STORAGE_URL: z.url({ protocol: /^https?$/ }),
  BERTH_GATEWAY_PORT: port,
  /** Processes that share that port. */
  BERTH_GATEWAY_WORKERS: z.coerce.number().int().min(1).max(64).default(1),
  /** Where clients reach the gateway itself: terminals and port-forwards. */
  BERTH_GATEWAY_URL: z.url({ protocol: /^https?$/ }),
  /** The apps of sessions are at `<port>--<session>.` before this host: a wildcard name, or a `.localhost` one. */
  BERTH_APPS_URL: z.url({ protocol: /^https?$/ }),
  /** Volume name → folder on this machine, as JSON. */
  BERTH_VOLUMES: json(z.record(text, text)).default({}),

  /** Silence of a node that makes it LOST; 40 when unset. A node's workflow keeps the one that it began with. */
  BERTH_NODE_SILENCE_SECONDS: z.coerce.number().min(1).max(3_600).optional(),

  BERTH_NODE_NAME: text.max(63),
  /** The resource group that the node joins. */
  BERTH_NODE_GROUP: text.max(63).default('default'),
  /** The node's own secret for reports and launch orders. The API takes it too, to know the first node. */
  BERTH_NODE_TOKEN: text,
  /** Further nodes that the API knows from the start, as JSON: `[{"name","token"}]`. `berth up --nodes` sets it. */
  BERTH_FURTHER_NODES: json(z.array(z.strictObject({ name: text.max(63), token: text }))).default([]),
  /** The agent's one port, for logs and exec. */
  BERTH_NODE_PORT: port,
  /** Where the API reaches that port. */
  BERTH_NODE_ADDRESS: z.url({ protocol: /^https?$/ }),
  /** Whole cores to share out; the machine's count when unset. */
  BERTH_NODE_CPUS: z.coerce.number().int().positive().optional(),
  /** Bytes to share out; the machine's memory when unset. */
  BERTH_NODE_MEMORY_BYTES: z.coerce.number().int().positive().optional(),
  /** Pretended devices in the place of found ones, as JSON: `[{"model","memoryBytes","count","sharing","mig"}]`. */
  BERTH_SIMULATED_GPUS: json(z.array(simulatedGpus)).default([]),
  /** What keeps shares of found GPUs apart: by UUID, by place as nvidia-smi counts, or `all`. MIG instances are found. */
  BERTH_NODE_SHARING: sharingRules.optional(),
  /** A check of the machine, as JSON: `["program","argument"]`; it fails with an exit code other than 0, or when it takes too long. */
  BERTH_NODE_HEALTH_COMMAND: command.optional(),
  BERTH_NODE_HEALTH_INTERVAL_SECONDS: z.coerce.number().min(0.1).max(86_400).default(60),
  BERTH_NODE_HEALTH_TIMEOUT_SECONDS: z.coerce.number().min(0.1).max(3_600).default(30),
  /** So many failures in a row make the node unhealthy; one success makes it healthy again. */
  BERTH_NODE_HEALTH_FAILURES: z.coerce.number().int().min(1).max(1_000).default(3),
  ...ENGINE_VARIABLES,
  ...CONTROL_VARIABLES,
  /** Folder of the agent: log files, what it knows of its containers. */
  BERTH_NODE_STATE: text,
  /** Host ports for containers. */
  BERTH_PORT_RANGE: portRange.default({ first: 30_000, last: 30_999 }),
  /** The container engine; the usual socket when unset. */
  DOCKER_HOST: text.optional(),

  /** 32 bytes in base64: seals environment values, registry passwords and keys of engines. */
  BERTH_SEALING_KEY_FILE: text,
  /** Private ES256 key as JWK: the API signs storage and node tokens with it. */
  BERTH_SIGNING_KEY_FILE: text,
  /** Public keys as JWKS: storage proxy and agent check tokens with them. */
  BERTH_VERIFY_KEY_FILE: text,
  /** The first admin's API key, plain; the API stores its hash at start. */
  BERTH_BOOTSTRAP_KEY_FILE: text.optional(),

  /** `/metrics` and `/healthz` of a process that has no HTTP port of its own (control worker) or another one. */
  BERTH_METRICS_PORT: port.optional(),
  /** Temporal's own worker metrics, Prometheus format. */
  BERTH_TEMPORAL_METRICS_PORT: port.optional(),
  BERTH_LOG_LEVEL: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** The state directory of `berth up`; unset where processes run apart. */
  BERTH_STATE: text.optional(),
} as const;

type Variable = keyof typeof VARIABLES;

type Camel<S extends string> = S extends `${infer Head}_${infer Tail}`
  ? `${Lowercase<Head>}${Capitalize<Camel<Tail>>}`
  : Lowercase<S>;

/** `BERTH_NODE_NAME` becomes `nodeName`; `DATABASE_URL` becomes `databaseUrl`. */
type Field<V extends Variable> = V extends `BERTH_${infer Rest}` ? Camel<Rest> : Camel<V>;

export type Config<V extends Variable> = { readonly [K in V as Field<K>]: z.output<(typeof VARIABLES)[K]> };

function fieldName(variable: string): string {
  const words = variable
    .replace(/^BERTH_/, '')
    .toLowerCase()
    .split('_');
  return words.map((word, index) => (index === 0 ? word : word.charAt(0).toUpperCase() + word.slice(1))).join('');
}

/** An empty variable counts as unset: unit files and compose files cannot always leave one out. */
function parse<V extends Variable>(variables: readonly V[], env: NodeJS.ProcessEnv): Config<V> {
  const problems: string[] = [];
  const fields: Record<string, unknown> = {};
  for (const variable of variables) {
    const value = env[variable] === '' ? undefined : env[variable];
    const parsed = VARIABLES[variable].safeParse(value);
    if (parsed.success) fields[fieldName(variable)] = parsed.data;
    else {
      const rule = parsed.error.issues[0]?.message ?? 'is not valid';
      problems.push(`${variable} ${value === undefined ? 'is missing' : rule}`);
    }
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(fields) as Config<V>;
}

const TEMPORAL = ['BERTH_TEMPORAL_ADDRESS', 'BERTH_TEMPORAL_NAMESPACE'] as const;
const OBSERVED = ['BERTH_METRICS_PORT', 'BERTH_LOG_LEVEL', 'BERTH_STATE'] as const;

const CONTROL = [
  ...TEMPORAL,
  ...OBSERVED,
  'DATABASE_URL',
  'BERTH_BUILD_ID',
  'BERTH_NODE_SILENCE_SECONDS',
  ...CONTROL_NAMES,
  'BERTH_TEMPORAL_METRICS_PORT',
  'BERTH_SEALING_KEY_FILE',
] as const;

const NODE = [
  ...TEMPORAL,
  ...OBSERVED,
  'BERTH_TEMPORAL_METRICS_PORT',
  'BERTH_API_URL',
  'BERTH_NODE_NAME',
  'BERTH_NODE_GROUP',
  'BERTH_NODE_TOKEN',
  'BERTH_NODE_PORT',
  'BERTH_NODE_ADDRESS',
  'BERTH_NODE_CPUS',
  'BERTH_NODE_MEMORY_BYTES',
  'BERTH_SIMULATED_GPUS',
  'BERTH_NODE_SHARING',
  'BERTH_NODE_HEALTH_COMMAND',
  'BERTH_NODE_HEALTH_INTERVAL_SECONDS',
  'BERTH_NODE_HEALTH_TIMEOUT_SECONDS',
  'BERTH_NODE_HEALTH_FAILURES',
  ...ENGINE_NAMES,
  'BERTH_NODE_STATE',
  'BERTH_PORT_RANGE',
  'BERTH_VOLUMES',
  'BERTH_VERIFY_KEY_FILE',
  'DOCKER_HOST',
] as const;

const API = [
  ...TEMPORAL,
  ...OBSERVED,
  'DATABASE_URL',
  'BERTH_LISTEN_HOST',
  'BERTH_API_PORT',
  'BERTH_API_URL',
  'BERTH_STORAGE_URL',
  'BERTH_GATEWAY_URL',
  'BERTH_APPS_URL',
  'BERTH_VOLUMES',
  'BERTH_NODE_SILENCE_SECONDS',
  'BERTH_NODE_NAME',
  'BERTH_NODE_GROUP',
  'BERTH_NODE_TOKEN',
  'BERTH_FURTHER_NODES',
  'BERTH_SEALING_KEY_FILE',
  'BERTH_SIGNING_KEY_FILE',
  'BERTH_VERIFY_KEY_FILE',
  'BERTH_BOOTSTRAP_KEY_FILE',
] as const;

const GATEWAY = [
  ...TEMPORAL,
  ...OBSERVED,
  'DATABASE_URL',
  'BERTH_LISTEN_HOST',
  'BERTH_GATEWAY_PORT',
  'BERTH_GATEWAY_WORKERS',
  'BERTH_APPS_URL',
  'BERTH_SEALING_KEY_FILE',
  'BERTH_SIGNING_KEY_FILE',
  'BERTH_VERIFY_KEY_FILE',
] as const;

const STORAGE = [
  ...OBSERVED,
  'BERTH_LISTEN_HOST',
  'BERTH_STORAGE_PORT',
  'BERTH_VOLUMES',
  'BERTH_VERIFY_KEY_FILE',
] as const;

export type ControlConfig = Config<(typeof CONTROL)[number]>;
export type NodeConfig = Config<(typeof NODE)[number]>;
export type ApiConfig = Config<(typeof API)[number]>;
export type GatewayConfig = Config<(typeof GATEWAY)[number]>;
export type StorageConfig = Config<(typeof STORAGE)[number]>;

/** Each process calls its own once, at its start. Throws `ConfigError` with every problem at once. */
export const parseControlConfig = (env: NodeJS.ProcessEnv): ControlConfig => parse(CONTROL, env);
export const parseNodeConfig = (env: NodeJS.ProcessEnv): NodeConfig => parse(NODE, env);
export const parseApiConfig = (env: NodeJS.ProcessEnv): ApiConfig => parse(API, env);
export const parseGatewayConfig = (env: NodeJS.ProcessEnv): GatewayConfig => parse(GATEWAY, env);
export const parseStorageConfig = (env: NodeJS.ProcessEnv): StorageConfig => parse(STORAGE, env);
