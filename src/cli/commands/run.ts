import type { Command } from 'commander';
import type { CreateSessionInput } from '../../contract/index.js';
import { exitWhenEnded } from '../attached.js';
import { SESSION } from '../columns.js';
import { action, type CommandContext } from '../command-context.js';
import { formatAmount, resourceName } from '../format-amounts.js';
import { type RunOptions, sessionSpec } from '../session-spec.js';

const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export function registerRun(program: Command): void {
  program
    .command('run')
    .summary('run a command in a container, as a session')
    .description(
      'Runs a session: attached, its states on stderr, its output on stdout, its exit code as ours. Ctrl-C detaches.',
    )
    .argument('<image>', 'image as the container engine knows it')
    .argument('[command...]', 'after --: the command and its arguments')
    .option('--gpus <[model:]n>', 'whole GPUs, of a model when it is named')
    .option('--cpu <cores>', 'cores: 2, 0.5 or 500m', '1')
    .option('--mem <bytes>', 'memory: 8Gi, 512Mi', '1Gi')
    .option('-v, --volume <folder:/path[:ro]>', 'mount a folder', collect)
    .option('-p, --port <[name:]port>', 'open a port of the container', collect)
    .option('-e, --env <name=value>', 'environment; NAME alone takes it from here', collect)
    .option('--name <name>', 'unique among your open sessions of the project')
    .option('-d, --detach', 'print the name and return')
    .option('--rm', 'accepted for docker users; a session that ended holds nothing')
    .option('--kind <kind>', 'batch, interactive, inference or system', 'batch')
    .option('--project <project>', 'whose quota it counts for')
    .option('--group <group>', 'resource group')
    .option('--workers <n>', 'kernels beside the main one, each with the same slots')
    .option('--multi-node', 'kernels may lie on different nodes')
    .option('--priority <0-100>', 'higher goes first; 10 when omitted')
    .option('--max-runtime <time>', 'ends it after 10m, 2h …')
    .option('--start-deadline <time>', 'from placed to running, pull included')
    .option('--grace <time>', 'between SIGTERM and SIGKILL at its end')
    .option('--entrypoint <program>', "instead of the image's entrypoint")
    .option('--workdir <path>', 'working directory in the container')
    .option('--health-path <path>', 'it is healthy when this path answers 2xx')
    .option('--health-port <port>', 'port of the health check')
    .option('--label <key=value>', 'label', collect)
    .option('--dry-run', 'say what it would get; changes nothing')
    .action(
      action<RunOptions>(async (context, { args, options }) => {
        const [image = '', ...command] = args;
        const spec = sessionSpec({ image, command, options, project: context.project, env: process.env });
        if (options.dryRun === true) return dryRun(context, spec);
        await run(context, spec, options.detach === true);
      }),
    );
}

async function dryRun({ client, out }: CommandContext, spec: CreateSessionInput): Promise<void> {
  const answer = await (await client()).sessions.dryRun(spec);
  if (out.isData) return out.data(answer);
  out.line(`${answer.outcome}: ${answer.message}`);
  for (const { role, node, devices } of answer.kernels)
    out.line(`  ${role} on ${node} ${devices.join(', ')}`.trimEnd());
  for (const { scope, name, slot, held, limit } of answer.quotaAfter) {
    out.line(
      `  quota of ${scope} ${name}: ${formatAmount(slot, held)} of ${formatAmount(slot, limit)} ${resourceName(slot)} after it`,
    );
  }
}

async function run(context: CommandContext, spec: CreateSessionInput, isDetached: boolean): Promise<void> {
  const client = await context.client({ isFollowing: !isDetached });
  const session = await client.sessions.create(spec);
  if (isDetached) {
    return context.out.done(session, SESSION, `hint: berth why ${session.name} · berth logs -f ${session.name}`);
  }
  context.out.say(`session ${session.name} (${session.id})`);
  await exitWhenEnded(context, client, session);
}
