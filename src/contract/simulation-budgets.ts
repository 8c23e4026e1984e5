import { z } from 'zod';
import { budgetSettingsSchema, createBudgetSchema } from './budget.js';

const owners = z.array(z.string().min(1).max(130)).max(10_000);

/** A budget of a file: its name is its key. Only one without budgets below it is charged, and says by whom. */
export interface SimulatedBudget {
  readonly weight: number;
  readonly minRuntimeCapSeconds: number | null;
  readonly projects: readonly string[];
  readonly users: readonly string[];
  readonly budgets: { readonly [name: string]: SimulatedBudget };
}

const budget: z.ZodType<SimulatedBudget> = z.lazy(() =>
  z.strictObject({
    weight: createBudgetSchema.shape.weight,
    minRuntimeCapSeconds: createBudgetSchema.shape.minRuntimeCapSeconds,
    projects: owners.default([]).describe('whose jobs are charged to it'),
    users: owners.default([]).describe('whose jobs are charged to it, whatever their project'),
    budgets: level.prefault({}),
  }),
);
const level = z.record(createBudgetSchema.shape.name, budget);

/** `budgets:` of a cluster or policy file: the tree below the root, with the settings of the product's tree. */
export const simulationBudgetsSchema = z.strictObject({
  windowSeconds: budgetSettingsSchema.shape.windowSeconds,
  factors: budgetSettingsSchema.shape.factors,
  unallocatedGraceSeconds: budgetSettingsSchema.shape.unallocatedGraceSeconds,
  tree: level.prefault({}),
  each: z
    .enum(['project', 'user'])
    .nullable()
    .default(null)
    .describe('a leaf of weight 1 below the root for each of the stream that the tree does not name'),
});
export type SimulationBudgets = z.infer<typeof simulationBudgetsSchema>;
