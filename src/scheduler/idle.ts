import type { IdleCriterion, IdleFinding, IdleVerdict } from '../contract/index.js';
import { gapLimitMs } from '../lifecycle/measurement-gap.js';
import { idleFindings, isoOf } from './idle-findings.js';
import type { IdleSubject } from './idle-subject.js';
import { idleText } from './idle-text.js';

/** What has to be done about a verdict. `clear`: the warning that was given does not hold any more. */
export type IdleStep = 'none' | 'warn' | 'clear' | 'end';

export interface IdleDecision {
  readonly verdict: IdleVerdict;
  readonly step: IdleStep;
  /** When something may change though nothing new is measured; null: never. */
  readonly nextLookMs: number | null;
}

/** Of one criterion, or of all that the policy combines. `due`: idle, and its window has passed or will. */
type Standing =
  | { readonly status: 'active' | 'unknown' | 'exempt' | 'absent' }
  | { readonly status: 'due'; readonly sinceMs: number; readonly dueMs: number };

const has = (standings: readonly Standing[], status: Standing['status']): boolean =>
  standings.some((standing) => standing.status === status);

const dueOf = (standings: readonly Standing[]) =>
  standings.flatMap((standing) => (standing.status === 'due' ? [standing] : []));

/** All of them, leaving out what the session does not have; of nothing, nothing follows. One that is exempt never holds. */
function allOf(standings: readonly Standing[]): Standing {
  const present = standings.filter(({ status }) => status !== 'absent');
  if (present.length === 0) return { status: 'absent' };
  for (const status of ['exempt', 'active', 'unknown'] as const) if (has(present, status)) return { status };
  const due = dueOf(present);
  const sinceMs = Math.max(...due.map((one) => one.sinceMs));
  return { status: 'due', sinceMs, dueMs: Math.max(...due.map(({ dueMs }) => dueMs)) };
}

/** The first that is due. */
function anyOf(standings: readonly Standing[]): Standing {
  const [first] = dueOf(standings).toSorted((a, b) => a.dueMs - b.dueMs);
  if (first !== undefined) return first;
  for (const status of ['active', 'unknown', 'exempt'] as const) if (has(standings, status)) return { status };
  return { status: 'absent' };
}

function standingOf({ status, since, dueAt }: IdleFinding): Standing {
  if (status !== 'low' || since === null || dueAt === null) return { status: status === 'low' ? 'active' : status };
  return { status: 'due', sinceMs: Date.parse(since), dueMs: Date.parse(dueAt) };
}

const CRITERIA: readonly IdleCriterion[] = ['utilization', 'network', 'lifetime'];

/** Within a criterion every threshold has to be undercut; the policy says whether the criteria hold together or each alone. */
function combined(findings: readonly IdleFinding[], when: 'all' | 'any'): Standing {
  const criteria = CRITERIA.map((name) => findings.filter(({ criterion }) => criterion === name));
  const standings = criteria.filter((own) => own.length > 0).map((own) => allOf(own.map(standingOf)));
  return when === 'all' ? allOf(standings) : anyOf(standings);
}

/** Since when it is low, and when the window has passed. */
interface Span {
  readonly sinceMs: number;
  readonly dueMs: number;
}

interface Timed {
  readonly state: IdleVerdict['state'];
  readonly step: IdleStep;
  readonly reclaimMs: number;
  readonly warnedMs: number | null;
}

/**
 * Between the warning and the end lies the policy's time at least, whatever it was idle before: also when the policy was
 * attached, or made shorter, a moment ago. No end within the minimum runtime. What was used after the warning is warned
 * anew, also where the window is no longer than the warning.
 */
function timed({ policy, protectedUntilMs, warnedAtMs }: IdleSubject, low: Span, nowMs: number): Timed {
  const warningMs = policy.warningSeconds * 1000;
  const earliestMs = Math.max(low.dueMs, protectedUntilMs);
  if (warnedAtMs !== null && low.sinceMs > warnedAtMs) {
    const reclaimMs = Math.max(earliestMs, nowMs + warningMs);
    return { state: 'counting', step: 'clear', reclaimMs, warnedMs: null };
  }
  if (nowMs < earliestMs - warningMs) {
    const step = warnedAtMs === null ? 'none' : 'clear';
    return { state: 'counting', step, reclaimMs: earliestMs, warnedMs: null };
  }
  const warnedMs = warnedAtMs ?? nowMs;
  const reclaimMs = Math.max(earliestMs, warnedMs + warningMs);
  if (nowMs >= reclaimMs) return { state: 'due', step: 'end', reclaimMs, warnedMs: warnedAtMs };
  return { state: 'warned', step: warnedAtMs === null ? 'warn' : 'none', reclaimMs, warnedMs };
}

const STILL = { active: 'active', absent: 'active', unknown: 'unknown', exempt: 'exempt' } as const;

/** A measurement that is fresh now will not be so for ever. */
const staleMs = ({ kernels }: IdleSubject, nowMs: number): readonly number[] =>
  kernels
    .flatMap(({ lastAtMs, everyMs }) => (lastAtMs === null ? [] : [lastAtMs + gapLimitMs(everyMs) + 1]))
    .filter((ms) => ms > nowMs);

/** The next of the moments of the verdict and of its measurements. */
function nextLook(subject: IdleSubject, { state, reclaimMs }: Pick<Timed, 'state' | 'reclaimMs'>, nowMs: number) {
  const warningMs = state === 'counting' ? subject.policy.warningSeconds * 1000 : 0;
  return Math.min(...staleMs(subject, nowMs), Math.max(nowMs, reclaimMs - warningMs));
}

/** Whether the session is idle, by which measure, since when, and when it is reclaimed; and what is to be done now. */
export function idleDecision(subject: IdleSubject, nowMs: number): IdleDecision {
  const findings = [...idleFindings(subject, nowMs)];
  const standing = combined(findings, subject.policy.when);
  if (standing.status !== 'due') {
    const state = STILL[standing.status];
    const none = { state, since: null, reclaimAt: null, warnedAt: null, findings };
    const step = subject.warnedAtMs === null ? 'none' : 'clear';
    const [nextLookMs = null] = [...staleMs(subject, nowMs)].sort((a, b) => a - b);
    return { verdict: { ...none, message: idleText(none) }, step, nextLookMs };
  }
  const { step, warnedMs, ...times } = timed(subject, standing, nowMs);
  const { state, reclaimMs } = times;
  const verdict = {
    state,
    since: isoOf(standing.sinceMs),
    reclaimAt: isoOf(reclaimMs),
    warnedAt: warnedMs === null ? null : isoOf(warnedMs),
    findings,
  };
  const nextLookMs = nextLook(subject, times, nowMs);
  return { verdict: { ...verdict, message: idleText(verdict) }, step, nextLookMs };
}
