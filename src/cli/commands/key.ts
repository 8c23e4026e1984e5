import { type Command, Option } from 'commander';
import { parseCount } from '../amounts.js';
import { KEY } from '../columns.js';
import { action } from '../command-context.js';
import { showList } from '../kinds.js';

interface CreateOptions {
  readonly user?: string;
  readonly scope: 'read' | 'write' | 'models';
  readonly expiresInDays?: string;
}

export function registerKey(program: Command): void {
  const key = program.command('key').summary('API keys').description('API keys. A secret is shown once.');
  key
    .command('ls')
    .summary('list keys')
    .action(action(async (context) => showList(context, (await context.client()).keys.list(), KEY)));
  key
    .command('create')
    .summary('make a key; its secret on stdout, this once')
    .argument('<name>')
    .option('--user <user>', 'whose; your own when omitted')
    .addOption(
      new Option('--scope <scope>', 'what it may be used for').choices(['read', 'write', 'models']).default('write'),
    )
    .option('--expires-in-days <n>', 'never when omitted')
    .action(
      action<CreateOptions>(async ({ client, out }, { args: [name = ''], options }) => {
        const { user, scope, expiresInDays: days } = options;
        const expiresInDays = days === undefined ? undefined : parseCount({ name: '--expires-in-days', text: days }, 1);
        const more = {
          ...(user === undefined ? {} : { user }),
          ...(expiresInDays === undefined ? {} : { expiresInDays }),
        };
        const made = await (await client()).keys.create({ name, scope, ...more });
        if (out.isData) return out.data(made);
        out.line(made.secret);
        out.say(`key ${made.name} (${made.id}) of ${made.user}; keep the secret, it is not shown again`);
      }),
    );
  key
    .command('revoke')
    .summary('end a key')
    .argument('<id>')
    .action(
      action(async ({ client, out }, { args: [id = ''] }) => {
        await (await client()).keys.revoke(id);
        out.say(`key ${id} is revoked`);
      }),
    );
}
