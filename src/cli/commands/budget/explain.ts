import type { Command } from 'commander';
import { budgetExplainText } from '../../budget-explain-text.js';
import { action } from '../../command-context.js';

export function registerBudgetExplain(budget: Command): void {
  budget
    .command('explain')
    .summary('why a session stands where it stands: the comparison at each fork, and the hours behind it')
    .description(
      'Why a session stands where it stands in the order of its group: what its budget and the others have used and are bound to use, who goes before it and why, which sessions were charged, and who may stop it.',
    )
    .argument('<session>', 'name or id')
    .action(
      action(async ({ client, out }, { args: [session = ''] }) => {
        const explanation = await (await client()).budgets.explain(session);
        if (out.isData) return out.data(explanation);
        if (out.isQuiet || out.format === 'name') return out.line(explanation.sessionId);
        out.line(budgetExplainText(explanation, new Date()));
      }),
    );
}
