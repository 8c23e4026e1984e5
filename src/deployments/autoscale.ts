/** A rule on one metric: above `upAt` it asks for `step` more, below `downAt` for `step` fewer. */
export interface MetricRule {
  readonly name: string;
  readonly upAt: number | null;
  readonly downAt: number | null;
  readonly step: number;
  readonly coolDownMs: number;
}

/** So many replicas at this time of day: a floor for the metric rules while it stands. */
export interface ScheduleRule {
  readonly name: string;
  readonly wanted: number;
  /** Minutes of the day in UTC; `until` below `from` goes over midnight. */
  readonly fromMinute: number;
  readonly untilMinute: number;
  /** 0 Sunday … 6; empty: each day (of its beginning). */
  readonly days: readonly number[];
}

export interface ScaleGround {
  /** The wanted count: what is on its way, or fails, is in it. */
  readonly current: number;
  readonly minimum: number;
  readonly maximum: number;
  /** By rule name; null or absent: the metric is missing. */
  readonly metrics: ReadonlyMap<string, number | null>;
  /** When a rule last changed the count. */
  readonly lastFiredMs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

export type RuleVerdict = {
  readonly rule: string;
  readonly says: 'up' | 'down' | 'nothing' | 'cooling-down' | 'missing' | 'schedule';
  readonly value: number | null;
  /** The count that it asks for, within the bounds; null: none. */
  readonly count: number | null;
};

/** Kept with its numbers, whether the count changes or not. */
export interface ScaleDecision {
  readonly wanted: number;
  readonly by: string | null;
  readonly because: string;
  readonly rules: readonly RuleVerdict[];
  /** Whose moment is kept as that of the last change; null: nothing changed. */
  readonly fires: string | null;
}

/**
 * All rules are looked at: the largest step up wins over any step down; of several downs the smallest is taken. A step past a
 * bound is clamped to it; a missing metric decides nothing and is told. A standing schedule is a floor. Where the count came
 * from a schedule that stands no longer, it goes back to what is the floor now, unless a metric rule leads down.
 */
export function scaleDecision(
  metricRules: readonly MetricRule[],
  schedules: readonly ScheduleRule[],
  ground: ScaleGround,
): ScaleDecision {
  const clamp = (count: number) => Math.min(ground.maximum, Math.max(ground.minimum, count));
  const standing = schedules.filter((rule) => stands(rule, ground.nowMs)).toSorted((a, b) => b.wanted - a.wanted)[0];
  const floor = standing === undefined ? ground.minimum : clamp(standing.wanted);
  const over = metricRules.some(({ downAt }) => downAt !== null) ? undefined : overSchedule(schedules, ground);
  const base = over === undefined ? Math.max(floor, clamp(ground.current)) : floor;
  const verdicts = metricRules.map((rule) => verdictOf(rule, { ...ground, current: base }, clamp));
  const ups = verdicts.filter(({ says }) => says === 'up').toSorted((a, b) => (b.count ?? 0) - (a.count ?? 0));
  const downs = verdicts.filter(({ says }) => says === 'down').toSorted((a, b) => (b.count ?? 0) - (a.count ?? 0));
  const chosen = ups[0] ?? downs[0];
  const rules = [...verdicts, ...scheduleVerdict(standing, floor)];
  const wanted = Math.max(floor, chosen?.count ?? base);
  const reason = reasonOf({ wanted, chosen, standing, over, current: ground.current });
  const fires = reason.by ?? (over === undefined ? null : (standing?.name ?? SCHEDULES_OVER));
  return { wanted, rules, ...reason, fires: fires === over?.name ? SCHEDULES_OVER : fires };
}

/** In the place of a schedule's name once its time was seen to be over: that happens once. */
export const SCHEDULES_OVER = 'schedules-over';

const scheduleVerdict = (rule: ScheduleRule | undefined, count: number): readonly RuleVerdict[] =>
  rule === undefined ? [] : [{ rule: rule.name, says: 'schedule', value: null, count }];

/** The schedule that changed the count last of all, if its time is over. */
function overSchedule(
  schedules: readonly ScheduleRule[],
  { lastFiredMs, nowMs }: ScaleGround,
): ScheduleRule | undefined {
  const last = [...lastFiredMs].toSorted((a, b) => b[1] - a[1])[0]?.[0];
  return schedules.find((rule) => rule.name === last && !stands(rule, nowMs));
}

function verdictOf(
  { name, upAt, downAt, step, coolDownMs }: MetricRule,
  { current, metrics, lastFiredMs, nowMs }: ScaleGround,
  clamp: (count: number) => number,
): RuleVerdict {
  const value = metrics.get(name) ?? null;
  if (value === null) return { rule: name, says: 'missing', value, count: null };
  const way = upAt !== null && value > upAt ? 1 : downAt !== null && value < downAt ? -1 : 0;
  if (way === 0) return { rule: name, says: 'nothing', value, count: null };
  const last = lastFiredMs.get(name);
  if (last !== undefined && nowMs - last < coolDownMs) return { rule: name, says: 'cooling-down', value, count: null };
  return { rule: name, says: way === 1 ? 'up' : 'down', value, count: clamp(current + way * step) };
}

function reasonOf(told: {
  readonly wanted: number;
  readonly chosen: RuleVerdict | undefined;
  readonly standing: ScheduleRule | undefined;
  readonly over: ScheduleRule | undefined;
  readonly current: number;
}): Pick<ScaleDecision, 'by' | 'because'> {
  const { wanted, chosen, standing, over, current } = told;
  const change = `${current} → ${wanted}`;
  if (wanted === current) {
    const because = chosen === undefined ? 'no rule asks for a change' : `${chosen.rule} is at the bound`;
    return { by: null, because };
  }
  if (chosen !== undefined && chosen.count === wanted)
    return { by: chosen.rule, because: `${chosen.rule} is ${chosen.value}: ${change}` };
  if (standing !== undefined && (wanted > current || over !== undefined))
    return { by: standing.name, because: `${standing.name} asks for ${standing.wanted}: ${change}` };
  if (over !== undefined) return { by: over.name, because: `the time of ${over.name} is over: ${change}` };
  return { by: null, because: `within its bounds: ${change}` };
}

const MINUTE_MS = 60_000;
const DAY_MINUTES = 1440;

/** By the day on which its window began. */
export function stands({ fromMinute, untilMinute, days }: ScheduleRule, nowMs: number): boolean {
  const minutes = Math.floor(nowMs / MINUTE_MS);
  const minute = minutes % DAY_MINUTES;
  const day = (Math.floor(minutes / DAY_MINUTES) + 4) % 7; // 1970-01-01 was a Thursday
  const isOn = (of: number) => days.length === 0 || days.includes(of);
  if (fromMinute <= untilMinute) return minute >= fromMinute && minute < untilMinute && isOn(day);
  if (minute >= fromMinute) return isOn(day);
  return minute < untilMinute && isOn((day + 6) % 7);
}
