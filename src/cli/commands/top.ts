import type { Command } from 'commander';
import { action, type CommandContext, interruptSignal } from '../command-context.js';
import { defined } from '../defined.js';
import { USAGE, usageRows } from '../usage-rows.js';

const WATCH_SECONDS = 2;
/** More than this is not shown; the SDK gets at the rest. */
const SHOWN_MAX = 1000;

interface TopOptions {
  readonly watch?: boolean;
  readonly group?: string;
  readonly project?: string;
  readonly user?: string;
}

export function registerTop(program: Command): void {
  program
    .command('top')
    .summary('live use of running sessions and their devices')
    .description(
      'Live use of running sessions, a line for each device: rates are over 5 min, ? is not measured; and when an idle one ends.',
    )
    .option('-w, --watch', 'again each 2 s')
    .option('--group <group>', 'of this resource group')
    .option('--project <project>', 'of this project')
    .option('--user <user>', 'of this user')
    .action(
      action<TopOptions>(async (context, { options }) => {
        if (options.watch === true) return watch(context, options);
        await show(context, options);
      }),
    );
}

async function show(context: CommandContext, options: TopOptions, signal?: AbortSignal): Promise<void> {
  const { client, out } = context;
  const { group, project, user } = options;
  const query = defined({ group, project, user });
  const items = await (await client()).usage.list(query, { signal }).toArray(SHOWN_MAX);
  if (out.isData) return out.data(options.watch === true ? items : { items }, options.watch === true);
  const rows = usageRows(items);
  const first = rows.filter(({ isFirst }) => isFirst);
  await out.list({ items: out.isQuiet || out.format === 'name' ? first : rows }, USAGE);
}

/** For programs one line a look, else the table anew. Ends at Ctrl-C. */
async function watch(context: CommandContext, options: TopOptions): Promise<void> {
  const signal = interruptSignal();
  while (!signal.aborted) {
    if (!context.out.isData) context.out.say(`use at ${new Date().toISOString()}`);
    await show(context, options, signal);
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, WATCH_SECONDS * 1000);
      signal.addEventListener(
        'abort',
        () => {
          clearTimeout(timer);
          resolve();
        },
        { once: true },
      );
    });
  }
}
