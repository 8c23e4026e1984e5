import type { CreateSessionInput } from '../contract/index.js';
import { parseBytes, parseCount, parseDurationSeconds, parseGpus } from './amounts.js';
import { usageError } from './cli-error.js';
import { defined } from './defined.js';
import { parseMoment } from './moments.js';

/** Options of `berth run` that say when and where it may run, and how it may be stopped; as written. */
export interface WishOptions {
  readonly gpus?: string;
  readonly gpuMem?: string;
  readonly gpuMemLimit?: string;
  readonly gpuModel?: string;
  readonly startsAt?: string;
  readonly dependsOn?: readonly string[];
  readonly minRuntime?: string;
  readonly maxRuntime?: string;
  readonly startDeadline?: string;
  readonly grace?: string;
  readonly preemptible?: boolean;
  readonly resumable?: boolean;
  readonly checkpoint?: string;
  readonly noticeSignal?: string;
  readonly retries?: string;
  readonly node?: readonly string[];
  readonly requireNode?: readonly string[];
  readonly zone?: string;
  readonly requireZone?: string;
  readonly spread?: string;
  readonly pack?: string;
  readonly idleExempt?: readonly string[];
}

export interface Devices {
  readonly slots: { readonly gpuCount: number; readonly gpuMemoryBytes?: number };
  readonly limit: { readonly gpuMemoryLimitBytes?: number };
  readonly model: { readonly gpuModel?: string };
}

/** Whole GPUs (`--gpus`) or a share of one (`--gpu-mem`), for each kernel. */
export function devicesOf({ gpus, gpuMem, gpuMemLimit, gpuModel }: WishOptions): Devices {
  const whole = gpus === undefined ? undefined : parseGpus({ name: '--gpus', text: gpus });
  const share = gpuMem === undefined ? undefined : parseBytes({ name: '--gpu-mem', text: gpuMem });
  if (whole !== undefined && whole.count > 0 && share !== undefined) {
    throw usageError('--gpus and --gpu-mem exclude each other: whole GPUs, or a share of one');
  }
  if (gpuMemLimit !== undefined && share === undefined) throw usageError('--gpu-mem-limit: it needs --gpu-mem too');
  const limit = gpuMemLimit === undefined ? undefined : parseBytes({ name: '--gpu-mem-limit', text: gpuMemLimit });
  if (whole?.model !== undefined && gpuModel !== undefined && whole.model !== gpuModel) {
    throw usageError(`--gpus names the model ${whole.model}, --gpu-model names ${gpuModel}: give one`);
  }
  return {
    slots: { gpuCount: whole?.count ?? 0, ...defined({ gpuMemoryBytes: share }) },
    limit: defined({ gpuMemoryLimitBytes: limit }),
    model: defined({ gpuModel: whole?.model ?? gpuModel }),
  };
}

/** When it may start, for how long it runs, what it waits for, and how it is stopped and tried again. */
export function wishesOf(options: WishOptions, now: Date): Partial<CreateSessionInput> {
  const { startsAt, dependsOn, preemptible, resumable, retries, idleExempt } = options;
  return {
    ...timing(options),
    ...notice(options),
    ...placement(options),
    ...defined({
      startsAt: startsAt === undefined ? undefined : parseMoment({ name: '--starts-at', text: startsAt }, now),
      dependsOn: dependsOn?.map(parseDependency),
      preemptible,
      resumable,
      idleExemptions: idleExempt?.map(parseCriterion),
      retry: retries === undefined ? undefined : { maxAttempts: parseCount({ name: '--retries', text: retries }) + 1 },
    }),
  };
}

const CRITERIA = ['utilization', 'network', 'lifetime'] as const;

function parseCriterion(text: string): (typeof CRITERIA)[number] {
  const found = CRITERIA.find((known) => known === text);
  if (found === undefined) throw usageError(`--idle-exempt: "${text}" is none of ${CRITERIA.join(', ')}`);
  return found;
}

function timing({ minRuntime, maxRuntime, startDeadline, grace }: WishOptions): Partial<CreateSessionInput> {
  const seconds = (name: string, text: string | undefined): number | undefined =>
    text === undefined ? undefined : parseDurationSeconds({ name, text });
  return defined({
    minRuntimeSeconds: seconds('--min-runtime', minRuntime),
    maxRuntimeSeconds: seconds('--max-runtime', maxRuntime),
    startDeadlineSeconds: seconds('--start-deadline', startDeadline),
    gracePeriodSeconds: seconds('--grace', grace),
  });
}

const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGUSR1', 'SIGUSR2', 'SIGHUP'] as const;

/** `--checkpoint` is a line for `sh -c` in the main kernel; it runs instead of the signal. */
function notice({ checkpoint, noticeSignal }: WishOptions): Pick<CreateSessionInput, 'notice'> {
  if (checkpoint !== undefined && noticeSignal !== undefined) {
    throw usageError('--checkpoint and --notice-signal exclude each other: the command runs instead of the signal');
  }
  if (checkpoint !== undefined) return { notice: { command: ['sh', '-c', checkpoint] } };
  if (noticeSignal === undefined) return {};
  const named = noticeSignal.toUpperCase();
  const signal = SIGNALS.find((known) => known === named || known === `SIG${named}`);
  if (signal === undefined) throw usageError(`--notice-signal: "${noticeSignal}" is none of ${SIGNALS.join(', ')}`);
  return { notice: { signal } };
}

const ON_FAILURE = ['cancel', 'fail', 'ignore'] as const;

/** `NAME`, or `NAME:ignore`: what becomes of this session when that one does not succeed. */
export function parseDependency(text: string): { session: string; onFailure?: (typeof ON_FAILURE)[number] } {
  const at = text.lastIndexOf(':');
  const session = at === -1 ? text : text.slice(0, at);
  const onFailure = at === -1 ? undefined : ON_FAILURE.find((known) => known === text.slice(at + 1));
  if (session === '' || (at !== -1 && onFailure === undefined)) {
    throw usageError(`--depends-on: "${text}" is no dependency: write NAME, NAME:cancel, NAME:fail or NAME:ignore`);
  }
  return { session, ...defined({ onFailure }) };
}

function placement(options: WishOptions): Pick<CreateSessionInput, 'placement'> {
  const { node, requireNode, zone, requireZone, spread, pack } = options;
  const pairs = [
    ['--node', node, '--require-node', requireNode],
    ['--zone', zone, '--require-zone', requireZone],
    ['--spread', spread, '--pack', pack],
  ] as const;
  for (const [one, given, other, alsoGiven] of pairs) {
    if (given !== undefined && alsoGiven !== undefined) throw usageError(`${one} and ${other} exclude each other`);
  }
  const wishes = {
    ...(node === undefined ? {} : { nodes: [...node] }),
    ...(requireNode === undefined ? {} : { nodes: [...requireNode], nodesRequired: true }),
    ...(zone === undefined ? {} : { zone }),
    ...(requireZone === undefined ? {} : { zone: requireZone, zoneRequired: true }),
    ...(spread === undefined ? {} : { spread: 'spread' as const, replicaGroup: spread }),
    ...(pack === undefined ? {} : { spread: 'pack' as const, replicaGroup: pack }),
  };
  return Object.keys(wishes).length === 0 ? {} : { placement: wishes };
}
