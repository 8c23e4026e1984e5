import type { Command } from 'commander';
import { QUEUE_ENTRY } from '../columns.js';
import { action, type CommandContext, interruptSignal } from '../command-context.js';
import { showList } from '../kinds.js';

const WATCH_SECONDS = 2;

interface QueueOptions {
  readonly watch?: boolean;
}

export function registerQueue(program: Command): void {
  program
    .command('queue')
    .summary('who waits, in order, for what')
    .argument('[group]', 'resource group; default when omitted')
    .option('-w, --watch', 'again each 2 s')
    .action(
      action<QueueOptions>(async (context, { args: [given], options }) => {
        const group = given ?? context.project.group ?? 'default';
        if (options.watch === true) return watch(context, group);
        await showList(context, (await context.client()).queue.list(group), QUEUE_ENTRY);
      }),
    );
}

/** For programs one line an entry, else the table anew. Ends at Ctrl-C. */
async function watch(context: CommandContext, group: string): Promise<void> {
  const signal = interruptSignal();
  const client = await context.client();
  while (!signal.aborted) {
    const items = await client.queue.list(group, {}, { signal }).toArray(1000);
    if (context.out.isData) for (const item of items) await context.out.data(item, true);
    else {
      context.out.say(`queue ${group}, ${new Date().toISOString()}`);
      await context.out.list({ items }, QUEUE_ENTRY);
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, WATCH_SECONDS * 1000);
      signal.addEventListener('abort', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}
