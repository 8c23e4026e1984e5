import type { Command } from 'commander';
import { action } from '../../command-context.js';
import { showList } from '../../kinds.js';
import { POOL, poolText } from '../../pool-columns.js';

export function registerPoolRead(pool: Command): void {
  pool
    .command('ls')
    .summary('pools that you may use')
    .action(action(async (context) => showList(context, (await context.client()).pools.list(), POOL)));
  pool
    .command('get')
    .alias('show')
    .summary('one pool: its members, when its models sleep, who may use it')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).pools.get(name);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, POOL);
        out.line(poolText(found));
      }),
    );
}
