import type { Command } from 'commander';
import { action } from '../../command-context.js';

export function registerPoolRemove(pool: Command): void {
  pool
    .command('rm')
    .summary('forget a pool without models; its members end')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        await (await client()).pools.remove(name);
        out.say(`pool ${name} is forgotten; its members end`);
      }),
    );
}
