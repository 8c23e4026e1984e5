import type { Command } from 'commander';
import { BUDGET } from '../../budget-columns.js';
import { collect, type ListOptions, patchOf } from '../../budget-fields.js';
import { usageError } from '../../cli-error.js';
import { action } from '../../command-context.js';

/** `berth budget set`. */
export function registerBudgetChange(budget: Command): void {
  budget
    .command('set')
    .summary('change weight, cap, who may charge it, who may change what is below')
    .description('Changes what is named; the rest stays, as berth budget show tells it.')
    .argument('<budget>', 'a path as research/nlp')
    .option('--weight <n>', 'beside its siblings; 0 comes last and claims nothing')
    .option('--cap <time>', 'the longest minimum runtime: 4h, 2d, none')
    .option('--project <domain/project>', 'these projects alone may charge it', collect)
    .option('--add-project <domain/project>', 'one more that may charge it', collect)
    .option('--remove-project <domain/project>', 'one less', collect)
    .option('--no-projects', 'nobody may charge it')
    .option('--manager <domain/user>', 'these users alone manage it', collect)
    .option('--add-manager <domain/user>', 'one more who manages it', collect)
    .option('--remove-manager <domain/user>', 'one less', collect)
    .option('--no-managers', 'nobody of its own')
    .addHelpText(
      'after',
      '\nExamples:\n  berth budget set research/nlp --weight 60\n  berth budget set research/nlp --add-project lab/speech --cap 12h',
    )
    .action(
      action<ListOptions>(async ({ client, out }, { args: [path = ''], options }) => {
        const { budgets } = await client();
        const present = await budgets.get(path);
        const patch = patchOf(present, options);
        if (Object.keys(patch).length === 0) throw usageError('nothing to set', `berth budget set ${path} --weight 2`);
        const changed = await budgets.patch(path, patch, { ifMatch: present.etag });
        await out.done(changed, BUDGET, 'set; who changed what: berth budget history');
      }),
    );
}
