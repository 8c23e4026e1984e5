import type { BodyOf } from '../sdk/index.js';
import { parseCount, parseDurationSeconds, type Written } from './amounts.js';
import { usageError } from './cli-error.js';
import { IDLE_TAKES, parseIdle } from './idle-setting.js';

export type PolicyPatch = NonNullable<BodyOf<'patchGroup'>['policy']>;

interface Setting {
  /** What may stand after `=`, for help and errors. */
  readonly takes: string;
  readonly parse: (written: Written) => PolicyPatch;
}

const oneOf = <Name extends string>(names: readonly Name[], patch: (name: Name) => PolicyPatch): Setting => ({
  takes: names.join('|'),
  parse: ({ name, text }) => {
    const found = names.find((known) => known === text);
    if (found === undefined) throw usageError(`${name}: "${text}" is none of ${names.join(', ')}`);
    return patch(found);
  },
});

const flag = (patch: (isOn: boolean) => PolicyPatch): Setting =>
  oneOf(['true', 'false'], (text) => patch(text === 'true'));

const count = (patch: (amount: number) => PolicyPatch): Setting => ({
  takes: 'number',
  parse: (written) => patch(parseCount(written)),
});

const duration = (patch: (seconds: number) => PolicyPatch): Setting => ({
  takes: 'time',
  parse: (written) => patch(parseDurationSeconds(written)),
});

/** `none` takes the limit away. */
const orNone = ({ takes, parse }: Setting, none: PolicyPatch): Setting => ({
  takes: `${takes}|none`,
  parse: (written) => (written.text === 'none' ? none : parse(written)),
});

const KINDS = ['interactive', 'batch', 'inference', 'system'] as const;
const SLOTS = { gpu: 'gpuCount', 'gpu.mem': 'gpuMemoryBytes', cpu: 'cpuMilli', mem: 'memoryBytes' } as const;

/** `gpu,gpu.mem,cpu,mem`: which amount is compared first. */
const slotOrder: Setting = {
  takes: 'gpu,gpu.mem,cpu,mem',
  parse: ({ name, text }) => ({
    slotOrder: text.split(',').map((slot) => {
      if (!Object.hasOwn(SLOTS, slot))
        throw usageError(`${name}: "${slot}" is none of ${Object.keys(SLOTS).join(', ')}`);
      return SLOTS[slot as keyof typeof SLOTS];
    }),
  }),
};

/**
 * `domain/project:2`, or `domain/project:2:10m`: GPUs, and within which time it gets them back. `deployments:2` are those of all
 * deployments, `deployments@domain/project:2` those of a project's. All of them, with commas.
 */
const guarantees: Setting = {
  takes: '(domain/project|deployments[@domain/project]):gpus[:time],…|none',
  parse: ({ name, text }) => ({
    guarantees: text === 'none' ? [] : text.split(',').map((one) => guaranteeOf({ name, text: one })),
  }),
};

function guaranteeOf({ name, text }: Written) {
  const match = /^(?:(deployments)|(deployments@)?([^:@]+\/[^:@]+)):(\d+)(?::([^:]+))?$/.exec(text);
  if (match === null)
    throw usageError(
      `${name}: "${text}" is no guarantee: write DOMAIN/PROJECT:GPUS, deployments:GPUS or deployments@DOMAIN/PROJECT:GPUS, each with :10m if you like`,
    );
  const [, all, some, project, gpus = '', time] = match;
  const kind = all === undefined && some === undefined ? {} : ({ kind: 'inference' } as const);
  const within = time === undefined ? {} : { returnSeconds: parseDurationSeconds({ name, text: time }) };
  return {
    ...(project === undefined ? {} : { project }),
    ...kind,
    gpuCount: parseCount({ name, text: gpus }, 1),
    ...within,
  };
}

/** Not named (`undefined`) is no limit: the whole record is sent. */
const maxRuntimes = Object.fromEntries(
  KINDS.map((kind) => {
    const of = (seconds: number | undefined): PolicyPatch => ({ maxRuntimeSeconds: { [kind]: seconds } });
    return [`maxRuntime.${kind}`, orNone(duration(of), of(undefined))];
  }),
);

/** Each kind's whole policy in one value; `off` takes it away. */
const idle = Object.fromEntries(
  KINDS.map((kind): [string, Setting] => [
    `idle.${kind}`,
    { takes: IDLE_TAKES, parse: (written) => ({ idle: { [kind]: parseIdle(written) } }) },
  ]),
);

/** What `berth group set NAME key=value …` takes. */
export const POLICY_SETTINGS: Readonly<Record<string, Setting>> = {
  order: oneOf(['fifo', 'fair-share'], (order) => ({ order })),
  placement: oneOf(['dispersed', 'concentrated', 'least-allocated', 'best-fit-devices'], (placement) => ({
    placement,
  })),
  slotOrder,
  backfill: oneOf(['none', 'easy', 'conservative'], (backfill) => ({ backfill })),
  'decay.by': oneOf(['off', 'attempts', 'time'], (by) => ({ decay: { by } })),
  'decay.after': count((after) => ({ decay: { after } })),
  'decay.afterTime': duration((afterSeconds) => ({ decay: { afterSeconds } })),
  'decay.step': count((step) => ({ decay: { step } })),
  'preemption.enabled': flag((enabled) => ({ preemption: { enabled } })),
  'preemption.mode': oneOf(['terminate', 'requeue'], (mode) => ({ preemption: { mode } })),
  'preemption.scope': oneOf(['user', 'project', 'domain', 'group'], (scope) => ({ preemption: { scope } })),
  'preemption.order': oneOf(['newest', 'oldest', 'least-lost-work'], (order) => ({ preemption: { order } })),
  guarantees,
  maxWait: orNone(
    duration((maxWaitSeconds) => ({ maxWaitSeconds })),
    { maxWaitSeconds: null },
  ),
  maxPending: orNone(
    count((maxPendingSessions) => ({ maxPendingSessions })),
    { maxPendingSessions: null },
  ),
  ...maxRuntimes,
  ...idle,
  allowUnenforcedSharing: flag((allowUnenforcedSharing) => ({ allowUnenforcedSharing })),
  blackHoleFailures: count((blackHoleFailures) => ({ blackHoleFailures })),
  lostAfter: duration((lostAfterSeconds) => ({ lostAfterSeconds })),
  paused: flag((paused) => ({ paused })),
};

/** One line a key, for the help. */
export const POLICY_HELP = Object.entries(POLICY_SETTINGS)
  .map(([key, { takes }]) => `  ${key}=${takes}`)
  .join('\n');

/**
 * `key=value` arguments as one patch on `policy`: an object that one of them changes (`decay`, `preemption`, `maxRuntime`, `idle`) is
 * sent whole. Throws a usage error that names the key, and those there are.
 */
export function policyPatch(pairs: readonly string[], policy: PolicyPatch = {}): PolicyPatch {
  const { decay = {}, preemption = {}, maxRuntimeSeconds = {}, idle: idles = {} } = policy;
  const whole = { decay, preemption, maxRuntimeSeconds, idle: idles };
  return pairs.reduce<PolicyPatch>((patch, pair) => {
    const named = settingOf(pair);
    return merge({ ...whole, ...patch }, patch, named);
  }, {});
}

function settingOf(pair: string): PolicyPatch {
  const at = pair.indexOf('=');
  const key = at === -1 ? pair : pair.slice(0, at);
  const setting = Object.hasOwn(POLICY_SETTINGS, key) ? POLICY_SETTINGS[key] : undefined;
  if (setting === undefined) {
    throw usageError(`"${key}" is no setting of a group: ${Object.keys(POLICY_SETTINGS).join(', ')}`);
  }
  if (at === -1) throw usageError(`${key}: write ${key}=${setting.takes}`);
  return setting.parse({ name: key, text: pair.slice(at + 1) });
}

const NESTED = ['decay', 'preemption', 'maxRuntimeSeconds', 'idle'] as const;

/** Two keys of one object (`decay.by`, `decay.step`) make one patch of it. */
function merge(known: PolicyPatch, patch: PolicyPatch, more: PolicyPatch): PolicyPatch {
  const nested = NESTED.filter((name) => more[name] !== undefined).map((name) => [
    name,
    { ...known[name], ...more[name] },
  ]);
  return { ...patch, ...more, ...(Object.fromEntries(nested) as PolicyPatch) };
}
