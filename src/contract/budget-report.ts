import { z } from 'zod';
import { budgetIdSchema, sessionIdSchema, timestampSchema } from './ids.js';

const gpuSeconds = z.number().describe('GPUs × factor × seconds');
const part = z.number().nullable().describe('0 to 1; null where there was nothing to be a part of');

/** Integrals over a period. Below the root, total and healthy are the budget's claim of the cluster's; what is assigned above that is borrowed. */
const partsShape = {
  totalGpuSeconds: gpuSeconds,
  healthyGpuSeconds: gpuSeconds,
  assignedGpuSeconds: gpuSeconds.describe('from assignment to return; charged + unallocated + not charged'),
  chargedGpuSeconds: gpuSeconds.describe('allocated: charged to a budget'),
  unallocatedGpuSeconds: gpuSeconds.describe('free, and always preemptible'),
  unchargedGpuSeconds: gpuSeconds.describe(
    'attempts that the platform failed, or stopped within their minimum runtime',
  ),
};

export const reportLeafSchema = z
  .object({
    budget: z.string(),
    state: z.enum(['open', 'closed']),
    claim: z.number().describe('at the end of the period, 0 to 1'),
    allocatedGpuSeconds: gpuSeconds.describe('A: its claim of the healthy time, with the weights as they were'),
    usedGpuSeconds: gpuSeconds.describe('U: charged'),
    demandGpuSeconds: gpuSeconds.describe('D: allocated work that was pending and eligible, or held its GPUs'),
    servedGpuSeconds: gpuSeconds.describe('min(U, A, D)'),
    unallocatedGpuSeconds: gpuSeconds,
    ratio: z.number().nullable().describe('U / A; null where nothing is allocated'),
  })
  .meta({ id: 'ReportLeaf' });
export type ReportLeaf = z.infer<typeof reportLeafSchema>;

export const WAIT_CLASSES = ['short', 'short-charged', 'unallocated', 'long'] as const;
export type WaitClass = (typeof WAIT_CLASSES)[number];

export const reportWaitsSchema = z
  .object({
    class: z
      .enum(WAIT_CLASSES)
      .describe(
        'by minimum runtime m. short: m ≤ 1 h (debugging), made of short-charged (0 < m) and unallocated; long: m > 1 h',
      ),
    started: z.int().describe('sessions that got their first GPU within the period'),
    medianSeconds: z.number().nullable(),
    p95Seconds: z.number().nullable(),
    maxSeconds: z.number().nullable(),
    waiting: z.int().describe('submitted before its end, and without a GPU at its end'),
    curve: z.array(z.object({ share: z.number(), seconds: z.number() })).describe('that share started within so long'),
  })
  .meta({ id: 'ReportWaits' });
export type ReportWaits = z.infer<typeof reportWaitsSchema>;

const about = {
  sessionId: sessionIdSchema,
  name: z.string(),
  user: z.string(),
  project: z.string(),
  budget: z.string().nullable(),
};

export const paidIdleSchema = z
  .object({
    ...about,
    paidGpuSeconds: gpuSeconds.describe('charged within the period'),
    measuredGpuSeconds: gpuSeconds.describe('of it, where use was measured'),
    idleGpuSeconds: gpuSeconds.describe('measured, and not used'),
    utilization: z.number(),
  })
  .meta({ id: 'PaidIdle' });
export type PaidIdle = z.infer<typeof paidIdleSchema>;

export const brokenContractSchema = z
  .object({
    ...about,
    attempt: z.int(),
    at: timestampSchema.describe('when its GPUs were returned'),
    promisedSeconds: z.number().describe('its minimum runtime'),
    ranSeconds: z.number().describe('from running to the return'),
    unchargedGpuSeconds: gpuSeconds,
  })
  .meta({ id: 'BrokenContract' });
export type BrokenContract = z.infer<typeof brokenContractSchema>;

/** What became of a period's GPU-time, at one node of the tree. GPU-seconds are in factor units: GPUs × the model's factor × seconds. */
export const budgetReportSchema = z
  .object({
    budgetId: budgetIdSchema,
    budget: z.string().describe('its path; root is the whole tree, with work that is charged to no budget'),
    from: timestampSchema,
    until: timestampSchema.describe('not included; the present where the period is not over'),
    groups: z.array(z.string()).describe('the resource groups that order by fair share now'),
    waterfall: z.object({
      ...partsShape,
      measuredGpuSeconds: gpuSeconds.describe('of what was assigned, where use was measured'),
      usedGpuSeconds: gpuSeconds.nullable().describe('measured use; null where nothing was measured'),
    }),
    pyramid: z.object({
      availability: part.describe('healthy / total'),
      occupancy: part.describe('assigned / healthy; above 1 where a budget borrowed from its siblings'),
      utilization: part.describe('used / measured'),
      utilizationReason: z.string().nullable().describe('why it is null, or how much of the time it speaks of'),
      impact: z.number().describe('Σ min(U, A, D) / Σ min(A, D) over the leaves; 1 where nobody asked'),
      allocatedOfAssigned: part,
    }),
    leaves: z.array(reportLeafSchema),
    branches: z.array(z.string()).describe('what the parts of `periods` are split by: the children; a leaf itself'),
    periods: z
      .array(
        z.object({
          from: timestampSchema,
          until: timestampSchema,
          ...partsShape,
          chargedByBranch: z.array(gpuSeconds).describe('in the order of `branches`'),
        }),
      )
      .describe('equal parts of the period; they add up to the waterfall'),
    waits: z.array(reportWaitsSchema),
    paidIdle: z.object({
      belowPercent: z.number(),
      reason: z.string().nullable().describe('why nothing can be said'),
      paidGpuSeconds: gpuSeconds,
      idleGpuSeconds: gpuSeconds,
      sessions: z.array(paidIdleSchema).describe('those you may see, the most idle time first'),
    }),
    brokenContracts: z.array(brokenContractSchema).describe('those you may see, the latest first'),
    unallocated: z.array(
      z.object({
        budget: z.string().nullable().describe('null: without a budget'),
        project: z.string().nullable().describe('where it is without a budget'),
        gpuSeconds: gpuSeconds,
      }),
    ),
  })
  .meta({ id: 'BudgetReport' });
export type BudgetReport = z.infer<typeof budgetReportSchema>;
export type ReportPeriod = BudgetReport['periods'][number];
