import type { BodyOf } from '../sdk/index.js';
import { parseCount, parseDurationSeconds } from './amounts.js';
import { usageError } from './cli-error.js';
import { defined } from './defined.js';
import { secondsOrNone } from './pool-fields.js';

type Claim = BodyOf<'createModelClaim'>;
type Change = BodyOf<'changeModelClaim'>;

/** Options that may also change a claim later, as written. */
export interface ChangeOptions {
  readonly footprint?: string;
  readonly kvFloor?: string;
  readonly kvMin?: string;
  readonly kvMax?: string;
  readonly priority?: string;
  readonly sleepAfter?: string;
  readonly neverSleep?: boolean;
  readonly minAwake?: string;
  readonly maySleep?: boolean;
}
export interface ClaimOptions extends ChangeOptions {
  readonly file?: string;
  readonly pool?: string;
  readonly project?: string;
  readonly artifact?: string;
  readonly sha256?: string;
  readonly engine?: string;
  readonly arg?: readonly string[];
  readonly tensor?: string;
  readonly pipeline?: string;
  readonly replicas?: string;
  readonly pinned?: boolean;
  readonly hold?: string;
}

/** Amounts go as they are written: the API reads `30Gi`, and says what is wrong with one. `none` takes a bound away. */
export function changeOf(options: ChangeOptions): Change {
  const perGpu = defined({ maximumFootprint: options.footprint, kvFloor: options.kvFloor });
  const sleep = sleepOf(options);
  return {
    ...(Object.keys(perGpu).length > 0 ? { perGpu } : {}),
    ...(options.kvMin === undefined ? {} : { kvMin: options.kvMin === 'none' ? null : options.kvMin }),
    ...(options.kvMax === undefined ? {} : { kvMax: options.kvMax === 'none' ? null : options.kvMax }),
    ...(options.priority === undefined ? {} : { priority: parseCount({ name: '--priority', text: options.priority }) }),
    ...(Object.keys(sleep).length > 0 ? { sleep } : {}),
  };
}

function sleepOf({ sleepAfter, neverSleep, maySleep, minAwake }: ChangeOptions): NonNullable<Change['sleep']> {
  if (neverSleep === true && maySleep === true) throw usageError('--never-sleep and --may-sleep exclude each other');
  return {
    ...(sleepAfter === undefined ? {} : { afterSeconds: secondsOrNone('--sleep-after', sleepAfter) }),
    ...(neverSleep === true ? { never: true } : {}),
    ...(maySleep === true ? { never: false } : {}),
    ...(minAwake === undefined ? {} : { minimumAwakeSeconds: secondsOrNone('--min-awake', minAwake) }),
  };
}

/** `30s:100`: how long a request is held at most, and how many at once. */
export function parseHold(text: string): NonNullable<Claim['hold']> {
  const match = /^([^:]+):(\d{1,6})$/.exec(text);
  if (match === null) throw usageError(`--hold: "${text}" is not TIME:REQUESTS: write 30s:100`);
  return {
    maxWaitSeconds: parseDurationSeconds({ name: '--hold', text: match[1] ?? '' }),
    maxQueue: parseCount({ name: '--hold', text: match[2] ?? '' }, 1),
  };
}

export interface ClaimCall {
  readonly name: string | undefined;
  /** After `--`: they come behind those of `--arg`. */
  readonly args: readonly string[];
  readonly options: ClaimOptions;
  /** What the file holds; options win. */
  readonly file: Readonly<Record<string, unknown>>;
  readonly project: string | undefined;
}

/** The request for a claim; limits and defaults are the API's, but for what nobody can leave out. */
export function claimSpec({ name, args, options, file, project }: ClaimCall): Claim {
  const spec = { ...defined({ project }), ...file, ...optionsOf(options, args), ...defined({ modelName: name }) };
  const whole = { ...spec, ...nested(file, changeOf(options)) } as unknown as Claim;
  const missing = NEEDED.filter(([, isThere]) => !isThere(whole)).map(([option]) => option);
  if (missing.length === 0) return whole;
  throw usageError(
    `a claim needs ${missing.join(', ')}`,
    'berth model claim NAME --pool POOL --artifact huggingface://ORG/MODEL --footprint 30Gi --kv-floor 10Gi',
  );
}

const NEEDED: readonly (readonly [option: string, isThere: (claim: Partial<Claim>) => boolean])[] = [
  ['a NAME', ({ modelName }) => modelName !== undefined],
  ['--pool', ({ pool }) => pool !== undefined],
  ['--artifact', ({ artifactUrl }) => artifactUrl !== undefined],
  ['--footprint', ({ perGpu }) => perGpu?.maximumFootprint !== undefined],
  ['--kv-floor', ({ perGpu }) => perGpu?.kvFloor !== undefined],
];

/** `perGpu` and `sleep` of the file, with what options say of them. */
function nested(file: Readonly<Record<string, unknown>>, change: Change): object {
  const merged = (['perGpu', 'sleep'] as const).flatMap((key) => {
    const both = { ...(file[key] as object | undefined), ...change[key] };
    return Object.keys(both).length === 0 ? [] : [[key, both] as const];
  });
  return { ...change, ...Object.fromEntries(merged) };
}

function optionsOf(options: ClaimOptions, args: readonly string[]): object {
  const given = [...(options.arg ?? []), ...args];
  const { tensor, pipeline } = options;
  const parallel = {
    ...(tensor === undefined ? {} : { tensor: parseCount({ name: '--tensor', text: tensor }, 1) }),
    ...(pipeline === undefined ? {} : { pipeline: parseCount({ name: '--pipeline', text: pipeline }, 1) }),
  };
  return {
    ...defined({
      pool: options.pool,
      project: options.project,
      artifactUrl: options.artifact,
      artifactSha256: options.sha256,
      engine: options.engine,
      pinned: options.pinned,
    }),
    ...(given.length === 0 ? {} : { args: given }),
    ...(Object.keys(parallel).length === 0 ? {} : { parallel }),
    ...(options.replicas === undefined
      ? {}
      : { replicas: parseCount({ name: '--replicas', text: options.replicas }, 1) }),
    ...(options.hold === undefined ? {} : { hold: parseHold(options.hold) }),
  };
}
