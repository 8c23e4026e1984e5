import type { Command } from 'commander';
import { NODE } from '../columns.js';
import { action } from '../command-context.js';
import { showList } from '../kinds.js';

interface CreateOptions {
  readonly group: string;
  readonly zone?: string;
}
interface CordonOptions {
  readonly reason?: string;
}

export function registerNode(program: Command): void {
  const node = program.command('node').summary('nodes and their devices').description('Nodes and their devices.');
  registerReading(node);
  node
    .command('create')
    .summary('register a node and get its token')
    .argument('<name>')
    .option('--group <group>', 'resource group', 'default')
    .option('--zone <zone>', 'network zone')
    .action(
      action<CreateOptions>(async ({ client, out }, { args: [name = ''], options: { group, zone } }) => {
        const made = await (await client()).nodes.create({ name, group, ...(zone === undefined ? {} : { zone }) });
        if (out.isData) return out.data(made);
        out.line(made.token);
        out.say(`node ${made.name} of group ${made.group}; this is its token, shown once: BERTH_NODE_TOKEN`);
      }),
    );
  node
    .command('cordon')
    .summary('nothing new is placed there')
    .argument('<name>')
    .option('--reason <text>')
    .action(
      action<CordonOptions>(async ({ client, out }, { args: [name = ''], options: { reason } }) => {
        await out.done(await (await client()).nodes.cordon(name, reason), NODE, 'cordoned; what runs there goes on');
      }),
    );
  node
    .command('uncordon')
    .summary('it takes work again')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        await out.done(await (await client()).nodes.uncordon(name), NODE, 'takes work again');
      }),
    );
  node
    .command('rm')
    .summary('forget a node that holds nothing')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        await (await client()).nodes.delete(name);
        out.say(`node ${name} is forgotten; its token is not valid any more`);
      }),
    );
}

function registerReading(node: Command): void {
  node
    .command('ls')
    .summary('list nodes')
    .option('--group <group>', 'only of this resource group')
    .action(
      action<{ readonly group?: string }>(async (context, { options: { group } }) => {
        await showList(context, (await context.client()).nodes.list({ group }), NODE);
      }),
    );
  node
    .command('get')
    .summary('one node')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => out.one(await (await client()).nodes.get(name), NODE)),
    );
}
