import { z } from 'zod';

const count = z.int().min(0).max(1000);
const seconds = z
  .int()
  .min(0)
  .max(30 * 86_400);

/** What a rule looks at: one number for the whole deployment. */
export const scaleMetricSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('replica'),
      series: z
        .string()
        .max(200)
        .regex(/^[a-zA-Z_:][a-zA-Z0-9_:]*$/, "a metric's name, as vllm:num_requests_waiting"),
      aggregate: z.enum(['average', 'sum', 'max']).default('average').describe('over the replicas that serve'),
    }),
    z.strictObject({ kind: z.literal('requests-in-flight') }).describe('at the gateway, per replica that serves'),
    z.strictObject({ kind: z.literal('requests-per-second') }).describe('at the gateway, per replica that serves'),
    z.strictObject({ kind: z.literal('queue-length') }).describe('requests refused or in wait for a replica, in all'),
    z.strictObject({ kind: z.literal('gpu-utilization') }).describe('percent, the average over its devices'),
    z.strictObject({
      kind: z.literal('prometheus'),
      query: z.string().min(1).max(2000).describe('its first value; asked of BERTH_PROMETHEUS_URL'),
    }),
  ])
  .meta({ id: 'ScaleMetric' });
export type ScaleMetric = z.infer<typeof scaleMetricSchema>;

const ruleName = z.string().min(1).max(63);
export const scaleRuleSchema = z
  .strictObject({
    name: ruleName,
    metric: scaleMetricSchema,
    upAt: z.number().nullable().default(null).describe('above it: `step` more'),
    downAt: z.number().nullable().default(null).describe('below it: `step` fewer'),
    step: z.int().min(1).max(100).default(1),
    coolDownSeconds: seconds.default(60).describe('after this rule changed the count'),
  })
  .refine(({ upAt, downAt }) => upAt !== null || downAt !== null, {
    message: 'name upAt, downAt, or both',
    path: ['upAt'],
  })
  .refine(({ upAt, downAt }) => upAt === null || downAt === null || downAt < upAt, {
    message: 'must be below upAt',
    path: ['downAt'],
  })
  .meta({ id: 'ScaleRule' });

const timeOfDay = z.string().regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'a time of day in UTC, as 08:30');
export const scaleScheduleSchema = z
  .strictObject({
    name: ruleName,
    replicas: count.describe('at least so many while it stands'),
    from: timeOfDay,
    until: timeOfDay.describe('before `from`: of the next day'),
    days: z
      .array(z.enum(['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']))
      .max(7)
      .default([])
      .describe('on which it begins; each day when empty'),
  })
  .meta({ id: 'ScaleSchedule' });

/** All rules are looked at each few seconds: the largest step up wins over any down, and a step past a bound is clamped. */
export const autoscaleSchema = z
  .strictObject({
    minimum: count,
    maximum: count.min(1),
    rules: z.array(scaleRuleSchema).max(20).default([]),
    schedules: z.array(scaleScheduleSchema).max(50).default([]),
    idleAfterSeconds: seconds
      .min(1)
      .nullable()
      .default(null)
      .describe('without a request for so long it goes to `minimum`; null: by its rules alone'),
  })
  .refine(({ minimum, maximum }) => minimum <= maximum, { message: 'must not be above maximum', path: ['minimum'] })
  .refine(
    ({ rules, schedules }) => {
      const names = [...rules, ...schedules].map(({ name }) => name);
      return new Set(names).size === names.length;
    },
    { message: 'each rule and schedule has its own name', path: ['rules'] },
  )
  .meta({ id: 'Autoscale' });
export type Autoscale = z.infer<typeof autoscaleSchema>;

export const scaleDecisionSchema = z
  .object({
    at: z.string(),
    current: z.int(),
    wanted: z.int(),
    by: z.string().nullable(),
    because: z.string(),
    rules: z.array(
      z.object({
        rule: z.string(),
        says: z.enum(['up', 'down', 'nothing', 'cooling-down', 'missing', 'schedule']),
        value: z.number().nullable(),
        count: z.int().nullable(),
      }),
    ),
  })
  .meta({ id: 'ScaleDecision' });
export type ScaleDecisionView = z.infer<typeof scaleDecisionSchema>;
