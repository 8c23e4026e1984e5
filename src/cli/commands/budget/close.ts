import type { Command } from 'commander';
import { BUDGET } from '../../budget-columns.js';
import { action } from '../../command-context.js';

export function registerBudgetClose(budget: Command): void {
  budget
    .command('close')
    .summary('nothing more is charged to it; its claim goes to its siblings')
    .description(
      'Closes a budget that has none below it and no open sessions. Its history stays, and what was charged to it stays charged above it.',
    )
    .argument('<budget>', 'a path as research/nlp')
    .action(
      action(async ({ client, out }, { args: [path = ''] }) => {
        const closed = await (await client()).budgets.close(path);
        await out.done(closed, BUDGET, 'closed; with closed ones: berth budget tree --closed');
      }),
    );
}
