import { type Command, Option } from 'commander';
import { parseDurationSeconds } from '../amounts.js';
import { usageError } from '../cli-error.js';
import { NODE } from '../columns.js';
import { action } from '../command-context.js';
import { formatUntil } from '../format-amounts.js';
import { parseMoment } from '../moments.js';

interface MoveOptions {
  readonly to: string;
  readonly at?: string;
  readonly repeat?: 'none' | 'daily' | 'weekly';
  readonly deadline?: string;
}

/** Moves between groups, and images ahead of demand. */
export function registerNodeMove(node: Command): void {
  node
    .command('move')
    .summary('drain it, then move it to another group, now or in time for a moment')
    .argument('<name>')
    .requiredOption('--to <group>', 'resource group')
    .option('--at <moment>', 'moved by 18:00, +2h or 2026-11-30T18:00:00Z; it drains early enough')
    .addOption(new Option('--repeat <how>', 'again each day or week').choices(['none', 'daily', 'weekly']))
    .option('--deadline <time>', 'so long after its start the drain stops even protected work: 30m, 2h …')
    .action(
      action<MoveOptions>(async ({ client, out }, { args: [name = ''], options }) => {
        const { to, at, repeat, deadline } = options;
        if (repeat !== undefined && repeat !== 'none' && at === undefined) {
          throw usageError(`--repeat ${repeat}: it needs --at too`);
        }
        const moved = await (await client()).nodes.move(name, {
          toGroup: to,
          ...(at === undefined ? {} : { at: parseMoment({ name: '--at', text: at }, new Date()) }),
          ...(repeat === undefined ? {} : { repeat }),
          ...(deadline === undefined ? {} : { deadlineSeconds: wholeSeconds(deadline) }),
        });
        const when = moved.move === null ? '' : ` by ${moved.move.at} (${formatUntil(moved.move.at, new Date())})`;
        await out.done(moved, NODE, `moves to ${to}${when}; who stops when: berth node drain ${name} --dry-run`);
      }),
    );
  node
    .command('cancel-move')
    .summary('forget its next move; a drain that the move began ends')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const kept = await (await client()).nodes.cancelMove(name);
        await out.done(kept, NODE, `stays in ${kept.group}; it is ${kept.state}`);
      }),
    );
  node
    .command('warm')
    .summary('bring images to it ahead of demand')
    .argument('<name>')
    .argument('<image...>')
    .action(
      action(async ({ client, out }, { args: [name = '', ...images] }) => {
        const warmed = await (await client()).nodes.warm(name, images);
        await out.done(warmed, NODE, `told to bring ${images.join(', ')}; what it holds: berth node show ${name}`);
      }),
    );
}

/** Upwards: rather a second more. */
const wholeSeconds = (text: string): number => Math.ceil(parseDurationSeconds({ name: '--deadline', text }));
