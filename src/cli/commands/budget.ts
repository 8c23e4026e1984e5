import type { Command } from 'commander';
import { registerBudgetChange } from './budget/change.js';
import { registerBudgetClose } from './budget/close.js';
import { registerBudgetCreate } from './budget/create.js';
import { registerBudgetExplain } from './budget/explain.js';
import { registerBudgetHistory } from './budget/history.js';
import { registerBudgetMove } from './budget/move.js';
import { registerBudgetSettings } from './budget/settings.js';
import { registerBudgetShow } from './budget/show.js';
import { registerBudgetTree } from './budget/tree.js';
import { registerBudgetReport } from './budget-report.js';

const EXAMPLES = `
Examples:
  berth budget create research --domain lab --weight 70
  berth budget create research/nlp --weight 50 --project lab/nlp
  berth run --budget research/nlp --min-runtime 4h --gpus 8 IMAGE -- CMD
  berth budget tree
  berth budget explain SESSION
`;

/** One file a verb; a verb more is a line more. */
const VERBS = [
  registerBudgetTree,
  registerBudgetShow,
  registerBudgetCreate,
  registerBudgetChange,
  registerBudgetMove,
  registerBudgetClose,
  registerBudgetHistory,
  registerBudgetExplain,
  registerBudgetReport,
  registerBudgetSettings,
];

export function registerBudget(program: Command): void {
  const budget = program
    .command('budget')
    .summary('GPU-time: who may use how much, and who has')
    .description(
      'GPU-time budgets: a tree whose leaves are charged for GPUs by the hour, in groups that order by fair share.',
    )
    .addHelpText('after', EXAMPLES);
  for (const register of VERBS) register(budget);
}
