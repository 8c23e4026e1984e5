import type { Command } from 'commander';
import { queueShown } from '../columns.js';
import { action, type CommandContext, interruptSignal } from '../command-context.js';
import { queueNotes } from '../queue-notes.js';

const WATCH_SECONDS = 2;
/** More than this of a queue is not shown; the SDK gets at the rest. */
const SHOWN_MAX = 1000;

interface QueueOptions {
  readonly watch?: boolean;
}

export function registerQueue(program: Command): void {
  program
    .command('queue')
    .summary('who waits, in order, for what, and when it starts')
    .description('Who waits, in order: for what, behind whom, and by when it starts where runtimes bound that.')
    .argument('[group]', 'resource group; default when omitted')
    .option('-w, --watch', 'again each 2 s')
    .action(
      action<QueueOptions>(async (context, { args: [given], options }) => {
        const group = given ?? context.project.group ?? 'default';
        if (options.watch === true) return watch(context, group);
        await show(context, group);
      }),
    );
}

async function show({ client, out }: CommandContext, group: string, signal?: AbortSignal): Promise<void> {
  const found = await (await client()).queue.list(group, {}, { signal }).toArray(SHOWN_MAX + 1);
  const items = found.slice(0, SHOWN_MAX);
  await out.list({ items }, queueShown(items));
  if (found.length > SHOWN_MAX) out.say(`only the first ${SHOWN_MAX} are shown`);
  if (out.isData || out.isQuiet || out.format === 'name') return;
  for (const line of queueNotes(items, new Date())) out.line(line);
}

/** For programs one line an entry, else the table anew. Ends at Ctrl-C. */
async function watch(context: CommandContext, group: string): Promise<void> {
  const { out } = context;
  const signal = interruptSignal();
  const client = await context.client();
  while (!signal.aborted) {
    if (out.isData) {
      const items = await client.queue.list(group, {}, { signal }).toArray(SHOWN_MAX);
      for (const item of items) await out.data(item, true);
    } else {
      out.say(`queue ${group}, ${new Date().toISOString()}`);
      await show(context, group, signal);
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
