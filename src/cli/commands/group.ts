import { type Command, Option } from 'commander';
import { usageError } from '../cli-error.js';
import { GROUP } from '../columns.js';
import { action } from '../command-context.js';
import { showList } from '../kinds.js';

interface CreateOptions {
  readonly placement?: 'dispersed' | 'concentrated';
  readonly domain?: readonly string[];
  readonly project?: readonly string[];
}
interface SetOptions extends CreateOptions {
  readonly pause?: boolean;
  readonly resume?: boolean;
}

const placement = (): Option =>
  new Option('--placement <policy>', 'how a node is chosen').choices(['dispersed', 'concentrated']);

export function registerGroup(program: Command): void {
  const group = program
    .command('group')
    .summary('resource groups and their policy')
    .description('Resource groups: a set of nodes with one policy.');
  group
    .command('ls')
    .summary('groups you may use')
    .action(action(async (context) => showList(context, (await context.client()).groups.list(), GROUP)));
  group
    .command('get')
    .summary('one group')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => out.one(await (await client()).groups.get(name), GROUP)),
    );
  group
    .command('create')
    .summary('create a group')
    .argument('<name>')
    .addOption(placement())
    .option('--domain <domain...>', 'only for these domains')
    .option('--project <domain/project...>', 'only for these projects')
    .action(
      action<CreateOptions>(async ({ client, out }, { args: [name = ''], options }) => {
        const made = await (await client()).groups.create({ name, ...settings(options) });
        await out.done(made, GROUP, `add nodes: berth node create NAME --group ${name}`);
      }),
    );
  group
    .command('set')
    .summary('change what is named')
    .argument('<name>')
    .addOption(placement())
    .option('--pause', 'place nothing new')
    .option('--resume', 'place again')
    .option('--domain <domain...>', 'only for these domains')
    .option('--project <domain/project...>', 'only for these projects')
    .action(
      action<SetOptions>(async ({ client, out }, { args: [name = ''], options }) => {
        const patch = settings(options);
        if (Object.keys(patch).length === 0) throw usageError('nothing to set', `berth group set ${name} --pause`);
        const berth = await client();
        const { etag } = await berth.groups.get(name);
        await out.done(await berth.groups.patch(name, patch, { ifMatch: etag }), GROUP, 'policy set');
      }),
    );
}

function settings({ placement, pause, resume, domain, project }: SetOptions) {
  if (pause === true && resume === true) throw usageError('--pause and --resume exclude each other');
  const policy = {
    ...(placement === undefined ? {} : { placement }),
    ...(pause === true ? { paused: true } : {}),
    ...(resume === true ? { paused: false } : {}),
  };
  return {
    ...(Object.keys(policy).length === 0 ? {} : { policy }),
    ...(domain === undefined ? {} : { domains: [...domain] }),
    ...(project === undefined ? {} : { projects: [...project] }),
  };
}
