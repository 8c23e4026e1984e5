import { z } from 'zod';
import { groupPolicySchema } from './group-policy.js';
import { simulationBudgetsSchema } from './simulation-budgets.js';

const seconds = z.number().min(0).max(315_360_000);
const share = z.number().min(0).max(1);
const name = z.string().min(1).max(130);

/** What a policy file makes of the jobs of a stream that do not say it themselves, or, with a value here, whatever they say. */
const jobTerms = z
  .strictObject({
    minRuntimeSeconds: seconds.optional().describe('of every job; at most its maximum runtime'),
    maxRuntime: z
      .enum(['given', 'none', 'duration'])
      .default('given')
      .describe('the bound that the scheduler knows: as the stream says, none, or how long the job really works'),
    maxRuntimeFactor: z.number().min(1).max(1000).default(1).describe('times the bound: people ask for too much'),
    priority: z.int().min(0).max(100).optional(),
    preemptible: z.boolean().optional(),
    resumable: z.boolean().optional(),
    checkpointSeconds: seconds.optional().describe('between checkpoints; 0: one is made within the notice of a stop'),
  })
  .prefault({});

/** `berth simulate --policy FILE`: a group's policy, and on what terms the jobs come. `extends` names another such file. */
export const simulationPolicySchema = z.strictObject({
  name: name.optional().describe('in tables and plots; the name of the file when omitted'),
  policy: groupPolicySchema.prefault({}),
  jobs: jobTerms,
  budgets: simulationBudgetsSchema.optional().describe("instead of the cluster's; they order under order: fair-share"),
});
export type SimulationPolicy = z.infer<typeof simulationPolicySchema>;

/** `berth simulate --cluster FILE`. */
export const simulationClusterSchema = z.strictObject({
  nodes: z
    .array(
      z.strictObject({
        count: z.int().min(1).max(10_000),
        prefix: z
          .string()
          .regex(/^[a-z0-9][a-z0-9-]{0,40}$/)
          .default('node'),
        gpus: z.int().min(1).max(64),
        gpuModel: z.string().min(1).max(64).default('simulated'),
      }),
    )
    .min(1)
    .max(100)
    .refine((list) => new Set(list.map(({ prefix }) => prefix)).size === list.length, 'each prefix stands once'),
  budgets: simulationBudgetsSchema.optional().describe('of all policies that bring none: reports are by them'),
});
export type SimulationCluster = z.infer<typeof simulationClusterSchema>;

const generatedProject = z.strictObject({
  name,
  weight: z.number().gt(0).default(1).describe('its share of the jobs'),
  users: z.int().min(1).max(10_000).default(5),
  priority: z.int().min(0).max(100).default(10),
  parked: share.default(0).describe('share of its jobs that hold their GPUs and do nothing'),
});

/** `berth simulate --generate FILE`: a made-up stream, the same for the same seed. */
export const generatorSchema = z.strictObject({
  seed: z.int().min(0).max(4_294_967_295).default(1),
  jobs: z.int().min(1).max(10_000_000).default(1000),
  load: z
    .number()
    .gt(0)
    .max(100)
    .default(0.9)
    .describe('GPU time that is asked, as a multiple of what there is while jobs come'),
  projects: z
    .array(generatedProject)
    .min(1)
    .max(10_000)
    .default(() => ['a', 'b', 'c'].map((one) => generatedProject.parse({ name: one })))
    .refine((list) => new Set(list.map((one) => one.name)).size === list.length, 'each project stands once'),
  sizes: z
    .array(z.strictObject({ gpus: z.int().min(1).max(10_000), weight: z.number().gt(0) }))
    .min(1)
    .default([
      { gpus: 1, weight: 70 },
      { gpus: 2, weight: 10 },
      { gpus: 4, weight: 10 },
      { gpus: 8, weight: 10 },
    ]),
  duration: z
    .strictObject({
      medianSeconds: seconds.gt(0).default(1800),
      sigma: z.number().min(0).max(4).default(1.5).describe('of the logarithm'),
      maxSeconds: seconds.gt(0).default(604_800),
    })
    .prefault({}),
  minRuntimeSeconds: seconds.default(0),
  maxRuntimeFactor: z.number().min(1).max(1000).nullable().default(2).describe('times the duration; null: no bound'),
  preemptible: share.default(1).describe('share of the jobs'),
  resumable: share.default(0.5).describe('share of the jobs'),
  checkpointSeconds: seconds.default(0),
});
export type Generator = z.infer<typeof generatorSchema>;
