import { type Command, Option } from 'commander';
import { usageError } from '../cli-error.js';
import { GROUP } from '../columns.js';
import { action } from '../command-context.js';
import { groupText } from '../group-text.js';
import { showList } from '../kinds.js';
import { POLICY_HELP, type PolicyPatch, policyPatch } from '../policy-settings.js';

type Placement = NonNullable<PolicyPatch['placement']>;
interface ScopeOptions {
  readonly domain?: readonly string[];
  readonly project?: readonly string[];
}
interface SetOptions extends ScopeOptions {
  readonly placement?: Placement;
  readonly pause?: boolean;
  readonly resume?: boolean;
}

const PLACEMENTS = ['dispersed', 'concentrated', 'least-allocated', 'best-fit-devices'];
const placement = (): Option =>
  new Option('--placement <policy>', 'as placement=…: how a node is chosen').choices(PLACEMENTS);
const SETTINGS_HELP = `\nSettings (a time is 30s, 10m, 2h …):\n${POLICY_HELP}`;

export function registerGroup(program: Command): void {
  const group = program
    .command('group')
    .summary('resource groups and their policy')
    .description('Resource groups: a set of nodes with one policy.');
  registerReading(group);
  group
    .command('create')
    .summary('create a group')
    .description(`Creates a resource group; what is not set has its default.\n${SETTINGS_HELP}`)
    .argument('<name>')
    .argument('[key=value...]', 'settings of its policy')
    .addOption(placement())
    .option('--domain <domain...>', 'only for these domains')
    .option('--project <domain/project...>', 'only for these projects')
    .action(
      action<SetOptions>(async ({ client, out }, { args: [name = '', ...pairs], options }) => {
        const policy = { ...flags(options), ...policyPatch(pairs) };
        const made = await (await client()).groups.create({ name, ...scopes(options), policy });
        await out.done(made, GROUP, `add nodes: berth node create NAME --group ${name}`);
      }),
    );
  registerSet(group);
}

function registerReading(group: Command): void {
  group
    .command('ls')
    .summary('groups you may use')
    .action(action(async (context) => showList(context, (await context.client()).groups.list(), GROUP)));
  group
    .command('get')
    .summary('one group, as a row')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => out.one(await (await client()).groups.get(name), GROUP)),
    );
  group
    .command('show')
    .summary('one group with its policy')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const found = await (await client()).groups.get(name);
        if (out.format !== 'table' || out.isQuiet) return out.one(found, GROUP);
        out.line(groupText(found));
      }),
    );
}

function registerSet(group: Command): void {
  group
    .command('set')
    .summary('change what is named')
    .description(`Changes what is named; the rest stays, as berth group show tells it.\n${SETTINGS_HELP}`)
    .argument('<name>')
    .argument('[key=value...]', 'settings of its policy')
    .addOption(placement())
    .option('--pause', 'place nothing new')
    .option('--resume', 'place again')
    .option('--domain <domain...>', 'only for these domains')
    .option('--project <domain/project...>', 'only for these projects')
    .action(
      action<SetOptions>(async ({ client, out }, { args: [name = '', ...pairs], options }) => {
        const access = scopes(options);
        if (pairs.length + Object.keys(access).length + Object.keys(flags(options)).length === 0) {
          throw usageError('nothing to set', `berth group set ${name} backfill=easy`);
        }
        policyPatch(pairs); // a wrong key is told before anything is asked
        const berth = await client();
        const { etag, policy: present } = await berth.groups.get(name);
        const policy = { ...flags(options), ...policyPatch(pairs, present) };
        const patch = { ...access, ...(Object.keys(policy).length === 0 ? {} : { policy }) };
        await out.done(await berth.groups.patch(name, patch, { ifMatch: etag }), GROUP, 'policy set');
      }),
    );
}

function flags({ placement, pause, resume }: SetOptions): PolicyPatch {
  if (pause === true && resume === true) throw usageError('--pause and --resume exclude each other');
  return {
    ...(placement === undefined ? {} : { placement }),
    ...(pause === true ? { paused: true } : {}),
    ...(resume === true ? { paused: false } : {}),
  };
}

const scopes = ({ domain, project }: ScopeOptions) => ({
  ...(domain === undefined ? {} : { domains: [...domain] }),
  ...(project === undefined ? {} : { projects: [...project] }),
});
