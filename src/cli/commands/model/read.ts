import type { Command } from 'commander';
import { action } from '../../command-context.js';
import { showList } from '../../kinds.js';
import { MODEL } from '../../model-columns.js';
import { modelText } from '../../model-text.js';
import { modelWhyText } from '../../model-why-text.js';

export function registerModelRead(model: Command): void {
  model
    .command('ls')
    .summary('models of your projects')
    .option('--pool <pool>', 'only of this pool')
    .action(
      action<{ readonly pool?: string }>(async (context, { options: { pool } }) => {
        const query = pool === undefined ? {} : { pool };
        await showList(context, (await context.client()).models.list(query), MODEL);
      }),
    );
  model
    .command('get')
    .alias('show')
    .summary('one model: how it stands, its engines, and what it was claimed with')
    .argument('<name>', 'model name or id')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).models.get(name);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, MODEL);
        out.line(modelText(found, new Date()));
      }),
    );
  model
    .command('why')
    .summary('why it does not serve: the sum, what would help, and when')
    .argument('<name>', 'model name or id')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).models.get(name);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, MODEL);
        out.line(modelWhyText(found, new Date()));
      }),
    );
}
