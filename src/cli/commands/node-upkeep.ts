import type { Command } from 'commander';
import { parseDurationSeconds } from '../amounts.js';
import { usageError } from '../cli-error.js';
import { NODE } from '../columns.js';
import { action, interruptSignal } from '../command-context.js';
import { drainText } from '../drain-text.js';
import { untilDrained } from '../until-drained.js';

interface ReasonOption {
  readonly reason?: string;
}
interface DrainOptions extends ReasonOption {
  readonly deadline?: string;
  readonly dryRun?: boolean;
  readonly wait?: boolean;
}

/** Taking a node out of service, and back. */
export function registerNodeUpkeep(node: Command): void {
  registerCordon(node);
  registerDrain(node);
  node
    .command('unhealthy')
    .summary('mark it UNHEALTHY: it drains until it is marked healthy')
    .argument('<name>')
    .requiredOption('--reason <text>', 'what is wrong with it')
    .action(
      action<ReasonOption>(async ({ client, out }, { args: [name = ''], options: { reason = '' } }) => {
        const marked = await (await client()).nodes.markUnhealthy(name, reason);
        await out.done(
          marked,
          NODE,
          `${marked.state}: its work leaves; who stops when: berth node drain ${name} --dry-run`,
        );
      }),
    );
  node
    .command('healthy')
    .summary('take the mark UNHEALTHY away')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const marked = await (await client()).nodes.markHealthy(name);
        await out.done(marked, NODE, `${marked.state}`);
      }),
    );
}

function registerCordon(node: Command): void {
  node
    .command('cordon')
    .summary('nothing new is placed there')
    .argument('<name>')
    .option('--reason <text>', 'shown with the node')
    .action(
      action<ReasonOption>(async ({ client, out }, { args: [name = ''], options: { reason } }) => {
        await out.done(await (await client()).nodes.cordon(name, reason), NODE, 'cordoned; what runs there goes on');
      }),
    );
  node
    .command('uncordon')
    .summary('it takes work again; a drain that was begun by hand ends')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const opened = await (await client()).nodes.uncordon(name);
        await out.done(opened, NODE, opened.state === 'READY' ? 'takes work again' : `${opened.state}: not yet`);
      }),
    );
}

function registerDrain(node: Command): void {
  node
    .command('drain')
    .summary('its work leaves as minimum runtimes expire')
    .description(
      'Places nothing new there and stops what runs as minimum runtimes expire. Says who stops when, and when it is empty.',
    )
    .argument('<name>')
    .option('--deadline <time>', 'then even protected work is stopped: 30m, 2h …')
    .option('--reason <text>', 'shown with the node')
    .option('--dry-run', 'say who would stop when; changes nothing')
    .option('--wait', 'until it is empty')
    .action(
      action<DrainOptions>(async (context, { args: [name = ''], options }) => {
        const { deadline, reason, dryRun = false, wait = false } = options;
        if (dryRun && wait) throw usageError('--dry-run and --wait exclude each other');
        const how = {
          ...(reason === undefined ? {} : { reason }),
          ...(deadline === undefined ? {} : { deadlineSeconds: wholeSeconds(deadline) }),
        };
        const { out } = context;
        const client = await context.client();
        const plan = await (dryRun ? client.nodes.dryRunDrain(name, how) : client.nodes.drain(name, how));
        if (!out.isData) out.line(drainText(plan, new Date(), dryRun));
        if (wait) await untilDrained({ client, out, signal: interruptSignal() }, name);
        if (out.isData) await out.data(wait ? await client.nodes.get(name) : plan);
      }),
    );
}

/** Upwards: rather a second more. */
const wholeSeconds = (text: string): number => Math.ceil(parseDurationSeconds({ name: '--deadline', text }));
