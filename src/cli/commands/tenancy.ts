import { type Command, Option } from 'commander';
import { DOMAIN, PROJECT, USER } from '../columns.js';
import { action } from '../command-context.js';
import { showList } from '../kinds.js';

interface UserOptions {
  readonly domain?: string;
  readonly role: 'user' | 'domain-admin' | 'operator';
  readonly project?: readonly string[];
}
interface DomainOption {
  readonly domain?: string;
}

const DOMAIN_FLAGS = ['--domain <domain>', 'your own when omitted'] as const;

export function registerUser(program: Command): void {
  const user = program.command('user').summary('users').description('Users.');
  user
    .command('ls')
    .summary('users you may see')
    .action(action(async (context) => showList(context, (await context.client()).users.list(), USER)));
  user
    .command('create')
    .summary('create a user')
    .argument('<name>')
    .option(...DOMAIN_FLAGS)
    .addOption(new Option('--role <role>').choices(['user', 'domain-admin', 'operator']).default('user'))
    .option('--project <project...>', 'projects that it joins')
    .action(
      action<UserOptions>(async ({ client, out }, { args: [name = ''], options: { domain, role, project } }) => {
        const berth = await client();
        const made = await berth.users.create({
          name,
          domain: domain ?? (await berth.me()).domain,
          role,
          projects: [...(project ?? [])],
        });
        await out.done(made, USER, `its key: berth key create NAME --user ${name}`);
      }),
    );
}

export function registerProject(program: Command): void {
  const project = program.command('project').summary('projects and their members').description('Projects.');
  project
    .command('ls')
    .summary('projects you may see')
    .action(action(async (context) => showList(context, (await context.client()).projects.list(), PROJECT)));
  project
    .command('create')
    .summary('create a project')
    .argument('<name>')
    .option(...DOMAIN_FLAGS)
    .action(
      action<DomainOption>(async ({ client, out }, { args: [name = ''], options: { domain } }) => {
        const berth = await client();
        const made = await berth.projects.create({ name, domain: domain ?? (await berth.me()).domain });
        await out.done(made, PROJECT, `its members: berth project add-member ${name} USER`);
      }),
    );
  registerMembers(project);
}

function registerMembers(project: Command): void {
  project
    .command('add-member')
    .summary('make a user a member')
    .argument('<project>')
    .argument('<user>')
    .option(...DOMAIN_FLAGS)
    .addOption(new Option('--role <role>').choices(['member', 'manager']).default('member'))
    .action(
      action<DomainOption & { readonly role: 'member' | 'manager' }>(async (context, { args, options }) => {
        const [name = '', user = ''] = args;
        const berth = await context.client();
        const domain = options.domain ?? (await berth.me()).domain;
        await berth.projects.putMember({ domain, project: name, user }, options.role);
        context.out.say(`${user} is a ${options.role} of ${name}`);
      }),
    );
  project
    .command('rm-member')
    .summary('end a membership')
    .argument('<project>')
    .argument('<user>')
    .option(...DOMAIN_FLAGS)
    .action(
      action<DomainOption>(async (context, { args: [name = '', user = ''], options }) => {
        const berth = await context.client();
        const domain = options.domain ?? (await berth.me()).domain;
        await berth.projects.removeMember({ domain, project: name, user });
        context.out.say(`${user} is no member of ${name} any more`);
      }),
    );
}

export function registerDomain(program: Command): void {
  const domain = program.command('domain').summary('domains').description('Domains.');
  domain
    .command('ls')
    .summary('domains you may see')
    .action(action(async (context) => showList(context, (await context.client()).domains.list(), DOMAIN)));
  domain
    .command('create')
    .summary('create a domain')
    .argument('<name>')
    .action(
      action(async ({ client, out }, { args: [name = ''] }) => {
        const made = await (await client()).domains.create({ name });
        await out.done(made, DOMAIN, `its projects: berth project create NAME --domain ${name}`);
      }),
    );
}
