import type { Command } from 'commander';
import { BUDGET } from '../../budget-columns.js';
import { budgetText } from '../../budget-text.js';
import { action } from '../../command-context.js';

export function registerBudgetShow(budget: Command): void {
  budget
    .command('show')
    .alias('get')
    .summary('one budget: who may charge it, who may change it, and its figures')
    .argument('<budget>', 'a path as research/nlp, an id, or root')
    .action(
      action(async ({ client, out }, { args: [path = ''] }) => {
        const found = await (await client()).budgets.get(path);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, BUDGET);
        out.line(budgetText(found));
      }),
    );
}
