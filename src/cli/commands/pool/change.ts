import type { Command } from 'commander';
import { parseCount } from '../../amounts.js';
import { collect } from '../../budget-fields.js';
import { usageError } from '../../cli-error.js';
import { action } from '../../command-context.js';
import { POOL } from '../../pool-columns.js';
import { type ChangePoolOptions, poolChange } from '../../pool-fields.js';
import { untilEmpty, untilReady } from '../../until-pool-ready.js';
import { withPolicy } from './create.js';

interface WaitOptions {
  readonly wait?: boolean;
  readonly timeout?: string;
}

/** What changes a pool that is there. */
export function registerPoolChange(pool: Command): void {
  registerSet(pool);
  pool
    .command('scale')
    .summary('grow or shrink it; models leave a member before it ends')
    .argument('<name>')
    .argument('<members>', 'how many are wanted')
    .option('--wait', 'until they are there')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .action(
      action<WaitOptions>(async (context, { args: [name = '', text = ''], options }) => {
        const members = parseCount({ name: 'members', text });
        const changed = await (await context.client()).pools.change(name, { members });
        const shown = options.wait === true ? await untilReady(context, name, options.timeout) : changed;
        await context.out.done(shown, POOL, `${members} wanted; how they stand: berth pool get ${name}`);
      }),
    );
  pool
    .command('drain')
    .summary('its models leave and its members end; the pool stays')
    .argument('<name>')
    .option('--wait', 'until no member is left')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .action(
      action<WaitOptions>(async (context, { args: [name = ''], options }) => {
        const changed = await (await context.client()).pools.drain(name);
        const shown = options.wait === true ? await untilEmpty(context, name, options.timeout) : changed;
        await context.out.done(shown, POOL, `drains; fill it again: berth pool scale ${name} 1`);
      }),
    );
}

function registerSet(pool: Command): void {
  const set = pool
    .command('set')
    .summary('change its policy, and who may use it')
    .description('Changes what is named; the rest stays, as berth pool get tells it.')
    .argument('<name>')
    .option('--allow <project>', 'one more that may claim from it; again for more', collect)
    .option('--disallow <project>', 'one less; its claims stay', collect);
  withPolicy(set).action(
    action<ChangePoolOptions>(async ({ client, out }, { args: [name = ''], options }) => {
      const { pools } = await client();
      const change = poolChange(await pools.get(name), options);
      if (Object.keys(change).length === 0)
        throw usageError('nothing to set', `berth pool set ${name} --sleep-after 10m`);
      await out.done(await pools.change(name, change), POOL, `set; all of it: berth pool get ${name}`);
    }),
  );
}
