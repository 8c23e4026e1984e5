import type { Command } from 'commander';
import { NODE } from '../columns.js';
import { action } from '../command-context.js';
import { showList } from '../kinds.js';
import { nodeText } from '../node-text.js';
import { registerNodeMove } from './node-move.js';
import { registerNodeUpkeep } from './node-upkeep.js';

interface CreateOptions {
  readonly group: string;
  readonly zone?: string;
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
  registerNodeUpkeep(node);
  registerNodeMove(node);
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
    .summary('one node, as a row')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => out.one(await (await client()).nodes.get(name), NODE)),
    );
  node
    .command('show')
    .summary('one node: devices and who has them, its drain, its next move, its images')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).nodes.get(name);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, NODE);
        out.line(nodeText(found, new Date()));
      }),
    );
}
