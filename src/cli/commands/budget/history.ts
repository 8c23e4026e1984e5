import type { Command } from 'commander';
import { BUDGET_CHANGE } from '../../budget-columns.js';
import { action } from '../../command-context.js';
import { showList } from '../../kinds.js';

export function registerBudgetHistory(budget: Command): void {
  budget
    .command('history')
    .summary('who changed which weight when, newest first')
    .argument('[budget]', 'of this one and those below it; root when omitted')
    .action(
      action(async (context, { args: [path = 'root'] }) =>
        showList(context, (await context.client()).budgets.changes(path), BUDGET_CHANGE),
      ),
    );
}
