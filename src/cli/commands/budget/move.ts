import type { Command } from 'commander';
import { BUDGET } from '../../budget-columns.js';
import { action } from '../../command-context.js';

interface MoveOptions {
  readonly to: string;
  readonly weight?: string;
}

export function registerBudgetMove(budget: Command): void {
  budget
    .command('move')
    .summary('put it, with all below it, below another parent')
    .description(
      'Puts a budget below another parent, with all below it and what was charged. It takes the right on both sides.',
    )
    .argument('<budget>', 'a path as research/nlp')
    .requiredOption('--to <parent>', 'a path, or root')
    .action(
      action<MoveOptions>(async ({ client, out }, { args: [path = ''], options }) => {
        const { budgets } = await client();
        const { etag } = await budgets.get(path);
        const moved = await budgets.patch(path, { parent: options.to }, { ifMatch: etag });
        await out.done(moved, BUDGET, `below ${moved.parent ?? 'nothing'}; claims follow: berth budget tree`);
      }),
    );
}
