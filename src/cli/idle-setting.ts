import type { IdlePolicy } from '../contract/index.js';
import type { BodyOf } from '../sdk/index.js';
import { parseCpu, parseDurationSeconds, type Written } from './amounts.js';
import { usageError } from './cli-error.js';
import { formatSeconds } from './format-amounts.js';

type WrittenPolicy = NonNullable<NonNullable<NonNullable<BodyOf<'patchGroup'>['policy']>['idle']>['interactive']>;
type Utilization = NonNullable<WrittenPolicy['utilization']>;

export const IDLE_TAKES =
  'off|all|any[,cpu:100m,gpu:5,gpu.mem:10,mem:10,window:1h,network:1h,lifetime:8h,grace:5m,warning:5m,exempt:domain/project,strict]';

/** A percentage, or `none`: that measure is not looked at. */
function percentOf({ name, text }: Written): number | null {
  if (text === 'none') return null;
  const value = Number(text.replace(/%$/, ''));
  if (text === '' || !(value >= 0 && value <= 100))
    throw usageError(`${name}: "${text}" is no percentage: write 5 or none`);
  return value;
}

const seconds = (written: Written): number => Math.ceil(parseDurationSeconds(written));
type Change = (policy: WrittenPolicy, written: Written) => WrittenPolicy;
const utilization =
  (of: (written: Written) => Utilization): Change =>
  (policy, written) => ({ ...policy, utilization: { ...policy.utilization, ...of(written) } });

const PARTS: Readonly<Record<string, Change>> = {
  cpu: utilization((written) => ({ cpuMilli: written.text === 'none' ? null : parseCpu(written) })),
  gpu: utilization((written) => ({ gpuPercent: percentOf(written) })),
  'gpu.mem': utilization((written) => ({ gpuMemoryPercent: percentOf(written) })),
  mem: utilization((written) => ({ memoryPercent: percentOf(written) })),
  window: utilization((written) => ({ windowSeconds: seconds(written) })),
  network: (policy, written) => ({ ...policy, network: { windowSeconds: seconds(written) } }),
  lifetime: (policy, written) => ({ ...policy, lifetime: { afterSeconds: seconds(written) } }),
  grace: (policy, written) => ({ ...policy, graceSeconds: seconds(written) }),
  warning: (policy, written) => ({ ...policy, warningSeconds: seconds(written) }),
  exempt: (policy, { text }) => ({ ...policy, exemptProjects: [...(policy.exemptProjects ?? []), text] }),
};
/** What stands alone: with its defaults. */
const ALONE: Readonly<Record<string, (policy: WrittenPolicy) => WrittenPolicy>> = {
  all: (policy) => ({ ...policy, when: 'all' }),
  any: (policy) => ({ ...policy, when: 'any' }),
  utilization: (policy) => ({ ...policy, utilization: policy.utilization ?? {} }),
  network: (policy) => ({ ...policy, network: {} }),
  strict: (policy) => ({ ...policy, honourExemptions: false }),
};

/** `any,cpu:100m,window:10m,network`; `off` is undefined. What is not named has its default. */
export function parseIdle({ name, text }: Written): WrittenPolicy | undefined {
  if (text === 'off') return undefined;
  const policy = text.split(',').reduce<WrittenPolicy>((known, part) => {
    const at = part.indexOf(':');
    const key = at === -1 ? part : part.slice(0, at);
    const alone = Object.hasOwn(ALONE, part) ? ALONE[part] : undefined;
    if (alone !== undefined) return alone(known);
    const change = at !== -1 && Object.hasOwn(PARTS, key) ? PARTS[key] : undefined;
    if (change === undefined) throw usageError(`${name}: "${part}" is none of ${IDLE_TAKES}`);
    return change(known, { name: `${name} ${key}`, text: part.slice(at + 1) });
  }, {});
  const isEmpty = policy.utilization === undefined && policy.network === undefined && policy.lifetime === undefined;
  if (isEmpty) throw usageError(`${name}: say what counts as idle: utilization, cpu:…, network or lifetime:…`);
  return policy;
}

/** In the words that `parseIdle` takes. */
export function idlePolicyText({ when, utilization: use, network, lifetime, ...rest }: IdlePolicy): string {
  const percent = (name: string, value: number | null) => `${name}:${value ?? 'none'}`;
  return [
    when,
    ...(use === null
      ? []
      : [
          `cpu:${use.cpuMilli === null ? 'none' : `${use.cpuMilli}m`}`,
          percent('gpu', use.gpuPercent),
          ...(use.gpuMemoryPercent === null ? [] : [percent('gpu.mem', use.gpuMemoryPercent)]),
          ...(use.memoryPercent === null ? [] : [percent('mem', use.memoryPercent)]),
          `window:${formatSeconds(use.windowSeconds)}`,
        ]),
    ...(network === null ? [] : [`network:${formatSeconds(network.windowSeconds)}`]),
    ...(lifetime === null ? [] : [`lifetime:${formatSeconds(lifetime.afterSeconds)}`]),
    `grace:${formatSeconds(rest.graceSeconds)}`,
    `warning:${formatSeconds(rest.warningSeconds)}`,
    ...rest.exemptProjects.map((project) => `exempt:${project}`),
    ...(rest.honourExemptions ? [] : ['strict']),
  ].join(',');
}
