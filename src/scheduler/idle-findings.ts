import type { IdleCriterion, IdleFinding, IdleMeasure } from '../contract/index.js';
import { gapLimitMs } from '../lifecycle/measurement-gap.js';
import type { IdleSubject, Measured, MeasuredKernel } from './idle-subject.js';

export const isoOf = (ms: number): string => new Date(ms).toISOString();

/** Whether the session, or its project, is kept from this criterion: it then never holds. */
export function isExempt({ policy, project, exemptions }: IdleSubject, criterion: IdleCriterion): boolean {
  if (policy.exemptProjects.includes(project)) return true;
  return policy.honourExemptions && exemptions.includes(criterion);
}

interface Found {
  readonly status: IdleFinding['status'];
  readonly value: number | null;
  readonly sinceMs: number | null;
}

const isFresh = ({ lastAtMs, everyMs }: MeasuredKernel, nowMs: number): boolean =>
  lastAtMs !== null && nowMs - lastAtMs <= gapLimitMs(everyMs);

/** The busiest kernel counts, and one that is not known makes all of it unknown. */
function lowest(
  { kernels }: IdleSubject,
  of: (kernel: MeasuredKernel) => Measured | null,
  { threshold, nowMs }: { readonly threshold: number; readonly nowMs: number },
): Found {
  const measured = kernels.flatMap((kernel) => {
    const one = of(kernel);
    return one === null ? [] : [{ ...one, isKnown: isFresh(kernel, nowMs) && one.value !== null }];
  });
  if (measured.length === 0) return { status: 'absent', value: null, sinceMs: null };
  if (measured.some(({ isKnown }) => !isKnown)) return { status: 'unknown', value: null, sinceMs: null };
  const value = Math.max(...measured.map((one) => one.value ?? 0));
  if (value >= threshold) return { status: 'active', value, sinceMs: null };
  return { status: 'low', value, sinceMs: Math.max(...measured.map(({ lowSinceMs }) => lowSinceMs)) };
}

function requestsOf({ hasPorts, requests, startedAtMs }: IdleSubject): Found {
  const { inFlight, lastAtMs, coveredSinceMs } = requests;
  if (!hasPorts) return { status: 'absent', value: null, sinceMs: null };
  if (inFlight > 0) return { status: 'active', value: inFlight, sinceMs: null };
  if (coveredSinceMs === null) return { status: 'unknown', value: null, sinceMs: null };
  return { status: 'low', value: 0, sinceMs: Math.max(startedAtMs, lastAtMs ?? 0, coveredSinceMs) };
}

interface Rule {
  readonly criterion: IdleCriterion;
  readonly measure: IdleMeasure;
  readonly threshold: number;
  readonly windowMs: number;
  readonly found: Found;
}

function rulesOf(subject: IdleSubject, nowMs: number): readonly Rule[] {
  const { utilization, network, lifetime } = subject.policy;
  const rules: Rule[] = [];
  const measure = (name: IdleMeasure, threshold: number | null, of: (kernel: MeasuredKernel) => Measured | null) => {
    if (utilization === null || threshold === null) return;
    const found = lowest(subject, of, { threshold, nowMs });
    const windowMs = utilization.windowSeconds * 1000;
    rules.push({ criterion: 'utilization', measure: name, threshold, windowMs, found });
  };
  measure('cpu', utilization?.cpuMilli ?? null, ({ cpu }) => cpu);
  measure('gpu', utilization?.gpuPercent ?? null, ({ gpu }) => gpu);
  measure('gpu.mem', utilization?.gpuMemoryPercent ?? null, ({ gpuMemory }) => gpuMemory);
  measure('mem', utilization?.memoryPercent ?? null, ({ memory }) => memory);
  if (network !== null) {
    const windowMs = network.windowSeconds * 1000;
    rules.push({ criterion: 'network', measure: 'requests', threshold: 1, windowMs, found: requestsOf(subject) });
  }
  if (lifetime !== null) {
    const value = Math.floor((nowMs - subject.startedAtMs) / 1000);
    const found: Found = { status: 'low', value, sinceMs: subject.startedAtMs };
    const windowMs = lifetime.afterSeconds * 1000;
    rules.push({ criterion: 'lifetime', measure: 'runtime', threshold: lifetime.afterSeconds, windowMs, found });
  }
  return rules;
}

/** Each measure that the policy names, against its threshold. No window begins before the grace period is over; a lifetime has none. */
export function idleFindings(subject: IdleSubject, nowMs: number): readonly IdleFinding[] {
  const graceEndMs = subject.startedAtMs + subject.policy.graceSeconds * 1000;
  return rulesOf(subject, nowMs).map(({ criterion, measure, threshold, windowMs, found }) => {
    const status = isExempt(subject, criterion) ? 'exempt' : found.status;
    const sinceMs = status === 'low' ? found.sinceMs : null;
    const floorMs = criterion === 'lifetime' ? 0 : graceEndMs;
    return {
      criterion,
      measure,
      status,
      value: found.value,
      threshold,
      since: sinceMs === null ? null : isoOf(sinceMs),
      dueAt: sinceMs === null ? null : isoOf(Math.max(sinceMs, floorMs) + windowMs),
    };
  });
}
