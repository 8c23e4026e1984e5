import { type Command, Option } from 'commander';
import { collect } from '../../budget-fields.js';
import { action } from '../../command-context.js';
import { POOL } from '../../pool-columns.js';
import { type CreatePoolOptions, poolSpec } from '../../pool-fields.js';
import { untilReady } from '../../until-pool-ready.js';

interface CreateOptions extends CreatePoolOptions {
  readonly dryRun?: boolean;
  readonly wait?: boolean;
  readonly timeout?: string;
}

export const withPolicy = (command: Command): Command =>
  command
    .addOption(new Option('--placement <policy>', 'where a model goes').choices(['spread', 'pack']))
    .option('--sleep-after <time>', 'idle for so long, a model sleeps: 10m; none: only to make room')
    .option('--release', 'a model that sleeps gives its room away, and has to find some to wake')
    .option('--keep', 'a model that sleeps keeps its room (what holds when nothing is said)')
    .option('--room-after <time>', 'idle, and awake, for so long before a model may be put to sleep for another; 30s');

export function registerPoolCreate(pool: Command): void {
  const create = pool
    .command('create')
    .summary('make a pool; its members start at once')
    .argument('<name>')
    .requiredOption('--image <image>', 'of the engines')
    .option('--engine <engine>', 'vllm, sglang')
    .option('--gpus <[model:]n>', 'of each member: 1, h100:8', '1')
    .requiredOption('--mem <bytes>', 'host memory of each member, where the weights of sleepers lie: 64Gi')
    .option('--cpu <cores>', 'of each member', '1')
    .option('--members <n>', 'how many', '1')
    .option('--project <project>', 'whose quota they take: NAME or DOMAIN/NAME')
    .option('--group <group>', 'resource group')
    .option('--allow <project>', 'may claim from it, beside its own; again for more', collect)
    .option('-e, --env <name=value>', 'of each engine; NAME takes the value from here; again for more', collect);
  withPolicy(create)
    .option('--wait', 'until every member is ready')
    .option('--timeout <time>', 'with --wait: give up after 10m …')
    .option('--dry-run', 'say whether it could be; changes nothing')
    .action(
      action<CreateOptions>(async (context, { args: [name = ''], options }) => {
        const { client, out, project } = context;
        const spec = poolSpec({ name, options, project, env: process.env });
        const { pools } = await client();
        if (options.dryRun === true) {
          const answer = await pools.dryRun(spec);
          return out.isData ? out.data(answer) : out.say(answer.message);
        }
        const made = await pools.create(spec);
        const shown = options.wait === true ? await untilReady(context, name, options.timeout) : made;
        await out.done(shown, POOL, `claim a model: berth model claim NAME --pool ${name} --help`);
      }),
    );
}
