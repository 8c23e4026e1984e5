import type { Command } from 'commander';
import { BUDGET } from '../../budget-columns.js';
import { collect, type FieldOptions, fieldsOf } from '../../budget-fields.js';
import { action } from '../../command-context.js';

interface CreateOptions extends FieldOptions {
  readonly domain?: string;
  readonly dryRun?: boolean;
}

/** `research/nlp` is `nlp` below `research`; a single name stands below the root. */
export function splitPath(path: string): { readonly name: string; readonly parent?: string } {
  const at = path.lastIndexOf('/');
  return at === -1 ? { name: path } : { name: path.slice(at + 1), parent: path.slice(0, at) };
}

/** Without a project nobody may charge it: it is to be a branch, or to be given one. */
const nextOf = (path: string, { project = [] }: FieldOptions): string =>
  project.length > 0
    ? `charge it: berth run --budget ${path} --min-runtime 1h …`
    : `budgets below it: berth budget create ${path}/NAME; or who may charge it: berth budget set ${path} --project DOMAIN/PROJECT`;

export function registerBudgetCreate(budget: Command): void {
  budget
    .command('create')
    .summary('create a budget below another')
    .argument('<path>', 'parent/name; a name alone stands below the root and needs --domain')
    .option('--domain <domain>', "the parent's when omitted")
    .option('--weight <n>', 'beside its siblings; 1 when omitted')
    .option('--project <domain/project>', 'may charge it; again for more', collect)
    .option('--manager <domain/user>', 'may change what is below it; again for more', collect)
    .option('--cap <time>', 'the longest minimum runtime: 4h, 2d; none when omitted')
    .option('--dry-run', 'say whether it could be; changes nothing')
    .addHelpText(
      'after',
      '\nExamples:\n  berth budget create research --domain lab --weight 70 --manager lab/ann\n  berth budget create research/nlp --weight 50 --project lab/nlp --cap 2d',
    )
    .action(
      action<CreateOptions>(async ({ client, out }, { args: [path = ''], options }) => {
        const { domain, dryRun } = options;
        const body = { ...splitPath(path), ...fieldsOf(options), ...(domain === undefined ? {} : { domain }) };
        const { budgets } = await client();
        if (dryRun === true) {
          const answer = await budgets.dryRun(body);
          return out.isData ? out.data(answer) : out.say(answer.message);
        }
        await out.done(
          await budgets.create(body),
          BUDGET,
          `claims follow: berth budget tree; ${nextOf(path, options)}`,
        );
      }),
    );
}
