import { z } from 'zod';

export const IDLE_CRITERIA = ['utilization', 'network', 'lifetime'] as const;
export const idleCriterionSchema = z.enum(IDLE_CRITERIA);
export type IdleCriterion = (typeof IDLE_CRITERIA)[number];

const seconds = z.int().min(1).max(31_536_000);
/** Samples are kept for the longest window, so it is a day at most. */
const windowSeconds = z.int().min(1).max(86_400);
const percent = z.number().min(0).max(100);

/** Of the busiest kernel. `null`: not looked at. What a session does not have (a GPU) is not looked at either. */
const utilization = z
  .strictObject({
    cpuMilli: z.int().min(0).max(1_000_000).nullable().default(100).describe('thousandths of a core, over 5 min'),
    gpuPercent: percent.nullable().default(5).describe('time in which its busiest GPU computes, over 5 min'),
    gpuMemoryPercent: percent.nullable().default(null).describe('of the memory of its fullest GPU'),
    memoryPercent: percent.nullable().default(null).describe('of the memory that its kernel asked for'),
    windowSeconds: windowSeconds.default(3600),
  })
  .refine(
    ({ cpuMilli, gpuPercent, gpuMemoryPercent, memoryPercent }) =>
      [cpuMilli, gpuPercent, gpuMemoryPercent, memoryPercent].some((threshold) => threshold !== null),
    'one threshold at least',
  );

/** When a running session of one kind counts as idle, and how it is told before it ends with `idle-timeout`. */
export const idlePolicySchema = z
  .strictObject({
    when: z.enum(['all', 'any']).default('all').describe('how many of the criteria that are set have to hold'),
    utilization: utilization.nullable().default(null).describe('each of its thresholds is undercut for the window'),
    network: z
      .strictObject({ windowSeconds: windowSeconds.default(3600) })
      .nullable()
      .default(null)
      .describe('no request through the proxy, and none in flight; of sessions that have ports'),
    lifetime: z.strictObject({ afterSeconds: seconds }).nullable().default(null).describe('it runs for that long'),
    graceSeconds: z.int().min(0).max(31_536_000).default(300).describe('after its start, before its windows begin'),
    warningSeconds: z.int().min(0).max(86_400).default(300).describe('between the warning and the end, at least'),
    exemptProjects: z.array(z.string().max(130)).max(1000).default([]).describe('as domain/project'),
    honourExemptions: z.boolean().default(true).describe('sessions may exempt themselves (idleExemptions)'),
  })
  .refine(({ utilization, network, lifetime }) => [utilization, network, lifetime].some((rule) => rule !== null), {
    message: 'name what counts as idle: utilization, network or lifetime',
  })
  .meta({ id: 'IdlePolicy' });
export type IdlePolicy = z.infer<typeof idlePolicySchema>;
