import type { Command } from 'commander';
import { BUDGET } from '../../budget-columns.js';
import { budgetTreeText, treeLegend } from '../../budget-tree-text.js';
import { action } from '../../command-context.js';

interface TreeOptions {
  readonly closed?: boolean;
}

export function registerBudgetTree(budget: Command): void {
  budget
    .command('tree')
    .alias('ls')
    .summary('the tree: claim, allocated, used, committed, ratio, expected')
    .description('The tree of budgets with what each may use and has used, in GPU-hours.')
    .argument('[budget]', 'only this one and those below it: research/nlp')
    .option('--closed', 'closed ones, too')
    .action(
      action<TreeOptions>(async ({ client, out }, { args: [below], options }) => {
        const query = {
          ...(below === undefined ? {} : { below }),
          ...(options.closed === true ? { closed: true } : {}),
        };
        const items = await (await client()).budgets.list({ ...query, limit: 500 }).toArray();
        const first = items[0];
        if (out.isData || out.isQuiet || out.format === 'name' || first === undefined)
          return out.list({ items }, BUDGET);
        out.line(budgetTreeText(items, { isWide: out.format === 'wide', now: new Date() }));
        out.say(treeLegend(first));
      }),
    );
}
