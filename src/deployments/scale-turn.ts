import type { Autoscale, ScaleDecisionView } from '../contract/index.js';
import { type MetricRule, type ScaleDecision, type ScheduleRule, scaleDecision } from './autoscale.js';
import { serves } from './replica.js';
import type { ScaleSnapshot, ScaleTurn } from './turn-types.js';

/** What a rule's metric came to outside the ledger; `missing` says why there is no value. */
export type MetricAnswer = { readonly value: number } | { readonly missing: string };

/** Who changes the count beside rules and schedules. */
export const BY_REQUEST = 'request';
export const BY_IDLENESS = 'idle';

const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const minuteOf = (timeOfDay: string): number => {
  const [hours = 0, minutes = 0] = timeOfDay.split(':').map(Number);
  return hours * 60 + minutes;
};

const metricRulesOf = ({ rules }: Autoscale): readonly MetricRule[] =>
  rules.map(({ name, upAt, downAt, step, coolDownSeconds }) => ({
    ...{ name, upAt, downAt, step },
    coolDownMs: coolDownSeconds * 1000,
  }));

const schedulesOf = ({ schedules }: Autoscale): readonly ScheduleRule[] =>
  schedules.map(({ name, replicas, from, until, days }) => ({
    name,
    wanted: replicas,
    fromMinute: minuteOf(from),
    untilMinute: minuteOf(until),
    days: days.map((day) => DAYS.indexOf(day)),
  }));

/**
 * The count that is wanted from now on. A request wakes a deployment at zero; rules and schedules decide; where nobody asked for
 * anything for long it goes to its minimum. No rule takes the last replica of one that was woken before it has served: at zero
 * there is nothing to measure, and it would never come up.
 */
export function scaleTurn(snapshot: ScaleSnapshot, answers: ReadonlyMap<string, MetricAnswer>): ScaleTurn {
  const { autoscale, wanted: current, wakeAskedMs, nowMs } = snapshot;
  const clearWake = wakeAskedMs !== null;
  if (autoscale === null) return { wanted: current, decision: null, fired: null, clearWake };
  const made = decide(snapshot, autoscale, answers);
  const decision: ScaleDecisionView = {
    at: new Date(nowMs).toISOString(),
    current,
    wanted: made.wanted,
    by: made.by,
    because: [made.because, ...missingTexts(made, answers)].join('; '),
    rules: [...made.rules],
  };
  const isNew = made.wanted !== current || saysOf(decision) !== saysOf(snapshot.lastDecision);
  return { wanted: made.wanted, decision: isNew ? decision : null, fired: made.fires, clearWake };
}

function decide(
  snapshot: ScaleSnapshot,
  autoscale: Autoscale,
  answers: ReadonlyMap<string, MetricAnswer>,
): ScaleDecision {
  const { wanted: current, wakeAskedMs, lastFiredMs, nowMs } = snapshot;
  const { minimum, maximum } = autoscale;
  const ground = {
    ...{ current, minimum, maximum, nowMs },
    metrics: new Map(autoscale.rules.map(({ name }) => [name, valueOf(name, snapshot, answers)])),
    lastFiredMs: new Map(Object.entries(lastFiredMs)),
  };
  const ruled = scaleDecision(metricRulesOf(autoscale), schedulesOf(autoscale), ground);
  if (current === 0 && wakeAskedMs !== null && ruled.wanted === 0)
    return { ...ruled, wanted: 1, by: BY_REQUEST, because: 'a request came: 0 → 1', fires: BY_REQUEST };
  const rule = autoscale.rules.find(({ name }) => name === ruled.by);
  if (rule !== undefined && ruled.wanted === 0 && !mayGoToZero(snapshot, rule.coolDownSeconds * 1000))
    return lastOneStays(ruled, current);
  const least = Math.max(minimum, scheduleCount(ruled));
  if (isIdle(snapshot, autoscale) && ruled.wanted > least && ruled.wanted <= current)
    return {
      ...ruled,
      wanted: least,
      by: BY_IDLENESS,
      because: `no request for ${autoscale.idleAfterSeconds} s: ${current} → ${least}`,
      fires: BY_IDLENESS,
    };
  return ruled;
}

const scheduleCount = ({ rules }: ScaleDecision): number => rules.find(({ says }) => says === 'schedule')?.count ?? 0;

const valueOf = (
  rule: string,
  { metrics }: ScaleSnapshot,
  answers: ReadonlyMap<string, MetricAnswer>,
): number | null => {
  const answer = answers.get(rule);
  return answer !== undefined && 'value' in answer ? answer.value : (metrics[rule] ?? null);
};

const missingTexts = ({ rules }: ScaleDecision, answers: ReadonlyMap<string, MetricAnswer>): readonly string[] =>
  rules
    .filter(({ says }) => says === 'missing')
    .map(({ rule }) => {
      const answer = answers.get(rule);
      return `${rule} is missing${answer !== undefined && 'missing' in answer ? `: ${answer.missing}` : ''}`;
    });

/** What makes one decision another one: not its numbers. */
const saysOf = (decision: ScaleDecisionView | null): string =>
  decision === null
    ? ''
    : `${decision.by ?? ''} ${decision.rules.map(({ rule, says }) => `${rule}=${says}`).join(' ')}`;

/** It serves, and was not asked for anything for a rule's cool-down since it could answer. */
function mayGoToZero({ replicas, lastRequestMs, nowMs }: ScaleSnapshot, coolDownMs: number): boolean {
  const since = replicas.filter(serves).map(({ servingMs }) => servingMs ?? nowMs);
  return since.length > 0 && nowMs - Math.max(lastRequestMs ?? 0, Math.min(...since)) >= coolDownMs;
}

const lastOneStays = (ruled: ScaleDecision, current: number): ScaleDecision => ({
  ...ruled,
  wanted: 1,
  because: `${ruled.because}, but the last one stays until it has served for as long as the rule cools down`,
  ...(current === 1 ? { by: null, fires: null } : {}),
});

/** Somebody serves, nothing is in flight, and for so long nothing was asked, since the first of them could answer. */
function isIdle(
  { replicas, lastRequestMs, lastFiredMs, nowMs }: ScaleSnapshot,
  { idleAfterSeconds }: Autoscale,
): boolean {
  if (idleAfterSeconds === null) return false;
  const serving = replicas.filter(serves);
  if (serving.length === 0 || replicas.some(({ inFlight }) => inFlight > 0)) return false;
  const sinceMs = Math.max(
    lastRequestMs ?? 0,
    lastFiredMs[BY_REQUEST] ?? 0,
    Math.min(...serving.map(({ servingMs }) => servingMs ?? nowMs)),
  );
  return nowMs - sinceMs >= idleAfterSeconds * 1000;
}

/** When time alone changes the count next: the end of an idle time. Rules and schedules are looked at by the net. */
export function idleAtMs(snapshot: ScaleSnapshot): number | null {
  const after = snapshot.autoscale?.idleAfterSeconds ?? null;
  if (after === null || snapshot.wanted <= (snapshot.autoscale?.minimum ?? 0)) return null;
  return Math.max(snapshot.lastRequestMs ?? 0, snapshot.lastFiredMs[BY_REQUEST] ?? 0) + after * 1000;
}
