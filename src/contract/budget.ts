import { z } from 'zod';
import { budgetIdSchema, nameSchema, sessionIdSchema, timestampSchema } from './ids.js';

/** The root of the one tree: it exists from the start, belongs to no domain, and its children are made by operators. */
export const ROOT_BUDGET_ID = 'bgt_00000000000000000000000000';
export const ROOT_BUDGET_PATH = 'root';

/** Names from below the root, as `research/nlp/pretraining`; the root is `root`. */
export const budgetPathSchema = z
  .string()
  .min(1)
  .max(500)
  .regex(/^[a-z0-9][a-z0-9-]*(\/[a-z0-9][a-z0-9-]*)*$/, 'names of budgets with / between them, as research/nlp');

const weight = z.int().min(0).max(1_000_000).describe('beside its siblings; 0 comes last and claims nothing');
const projects = z
  .array(z.string().max(130))
  .max(1000)
  .describe('projects that may charge it, as domain/project; only a leaf has any');
const managers = z
  .array(z.string().max(130))
  .max(100)
  .describe('users who may change the weights and budgets below it, as domain/user');
const minRuntimeCapSeconds = z
  .number()
  .min(0)
  .max(31_536_000)
  .nullable()
  .describe('the longest minRuntime that may be charged to it; null: as long as its allocated time bears');

export const createBudgetSchema = z
  .strictObject({
    name: nameSchema,
    parent: budgetPathSchema.default(ROOT_BUDGET_PATH),
    domain: nameSchema.optional().describe("the parent's when omitted; a child of the root names it"),
    weight: weight.default(1),
    projects: projects.default([]),
    managers: managers.default([]),
    minRuntimeCapSeconds: minRuntimeCapSeconds.default(null),
  })
  .meta({ id: 'CreateBudget' });
export type CreateBudget = z.infer<typeof createBudgetSchema>;

/** A merge patch: what is not named stays. `parent` moves it with all below it. */
export const patchBudgetSchema = z
  .strictObject({
    parent: budgetPathSchema.optional(),
    weight: weight.optional(),
    projects: projects.optional(),
    managers: managers.optional(),
    minRuntimeCapSeconds: minRuntimeCapSeconds.optional(),
  })
  .meta({ id: 'PatchBudget' });
export type PatchBudget = z.infer<typeof patchBudgetSchema>;

/** GPU-seconds in factor units (GPUs × factor × seconds), within the window that ends at `at`. */
export const budgetUseSchema = z
  .object({
    at: timestampSchema,
    windowSeconds: z.int(),
    claim: z.number().describe('its part of the capacity, 0 to 1'),
    allocatedGpuSeconds: z.number().describe('claim × capacity of the window'),
    usedGpuSeconds: z.number().describe('charged within the window'),
    committedGpuSeconds: z.number().describe('what running work is still protected for'),
    unallocatedGpuSeconds: z.number().describe('used for nothing by sessions with no minimum runtime'),
    ratio: z.number().nullable().describe('used / allocated; null where nothing is allocated'),
    expectedRatio: z.number().nullable().describe('(used + committed) / allocated'),
    runningGpus: z.number(),
    pendingGpus: z.number(),
  })
  .meta({ id: 'BudgetUse' });
export type BudgetUse = z.infer<typeof budgetUseSchema>;

export const budgetSchema = z
  .object({
    id: budgetIdSchema,
    name: z.string(),
    path: z.string(),
    parent: z.string().nullable(),
    domain: z.string().nullable().describe('null: the root'),
    depth: z.int().describe('0 is the root'),
    isLeaf: z.boolean().describe('only leaves are charged'),
    state: z.enum(['open', 'closed']),
    weight: z.int(),
    projects: z.array(z.string()),
    managers: z.array(z.string()),
    minRuntimeCapSeconds: z.number().nullable(),
    use: budgetUseSchema,
    etag: z.string(),
    createdAt: timestampSchema,
    closedAt: timestampSchema.nullable(),
  })
  .meta({ id: 'Budget' });
export type Budget = z.infer<typeof budgetSchema>;

/** One change of the tree: weights, parents, caps, who may charge it, its creation and close. */
export const budgetChangeSchema = z
  .object({
    seq: z.int(),
    at: timestampSchema,
    budget: z.string().describe('its path at the time'),
    actor: z.string(),
    field: z.enum(['created', 'weight', 'parent', 'projects', 'managers', 'minRuntimeCapSeconds', 'closed']),
    before: z.unknown(),
    after: z.unknown(),
  })
  .meta({ id: 'BudgetChange' });
export type BudgetChange = z.infer<typeof budgetChangeSchema>;

/** Of the whole tree. A factor is how much of a GPU-hour an hour of that model counts. */
export const budgetSettingsSchema = z
  .strictObject({
    windowSeconds: z.int().min(10).max(31_536_000).default(604_800),
    halfLifeSeconds: z
      .int()
      .min(10)
      .max(31_536_000)
      .nullable()
      .default(null)
      .describe('use counts half after it; null: all of the window counts alike, which can be explained hour by hour'),
    factors: z
      .record(z.string().min(1).max(128), z.number().min(0.001).max(1000).multipleOf(0.001))
      .default({})
      .describe('by GPU model; 1 where none is named'),
    unallocatedGraceSeconds: z
      .number()
      .min(0)
      .max(3600)
      .default(30)
      .describe('the longest grace of unallocated work that has to yield'),
  })
  .meta({ id: 'BudgetSettings' });
export type BudgetSettings = z.infer<typeof budgetSettingsSchema>;

/** One sibling at a fork of the tree, as the order compares it: the least load / weight with pending work below it goes first. */
export const budgetForkSchema = z.object({
  budget: z.string(),
  weight: z.int(),
  usedGpuSeconds: z.number(),
  committedGpuSeconds: z.number(),
  loadPerWeight: z.number().nullable().describe('null: weight 0, which comes last'),
  pendingSessions: z.int(),
  isOnPath: z.boolean().describe("the session's own branch"),
});

/** What was charged: one session's part of a branch's use, largest first. */
export const budgetChargeSchema = z.object({
  sessionId: sessionIdSchema,
  name: z.string(),
  user: z.string(),
  budget: z.string(),
  gpus: z.number(),
  from: timestampSchema,
  until: timestampSchema.nullable().describe('null: it holds them still'),
  gpuSeconds: z.number().describe('of it, within the window'),
});

/** Why a session stands where it stands: the comparison at each fork of the tree, and the sessions and hours behind it. */
export const budgetExplanationSchema = z
  .object({
    sessionId: sessionIdSchema,
    at: timestampSchema,
    budget: z.string().nullable().describe('null: unallocated, charged to nothing'),
    allocated: z.boolean(),
    position: z.int().nullable().describe('1 is the head; null: it does not wait'),
    message: z.string(),
    forks: z.array(z.object({ below: z.string(), siblings: z.array(budgetForkSchema) })),
    ahead: z.array(z.object({ sessionId: sessionIdSchema, name: z.string(), because: z.string() })),
    charges: z.array(budgetChargeSchema),
    protectedUntil: timestampSchema.nullable(),
    mayBeStoppedBy: z.string().describe('in words'),
  })
  .meta({ id: 'BudgetExplanation' });
export type BudgetExplanation = z.infer<typeof budgetExplanationSchema>;
