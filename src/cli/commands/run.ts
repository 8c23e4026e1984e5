import type { Command } from 'commander';
import type { CreateSessionInput } from '../../contract/index.js';
import { exitWhenEnded } from '../attached.js';
import { SESSION } from '../columns.js';
import { action, type CommandContext } from '../command-context.js';
import { dryRunText } from '../dry-run-text.js';
import { withRunFlags } from '../run-flags.js';
import { type RunOptions, sessionSpec } from '../session-spec.js';

export function registerRun(program: Command): void {
  const command = program
    .command('run')
    .summary('run a command in a container, as a session')
    .description(
      'Runs a session: attached, its states on stderr, its output on stdout, its exit code as ours. Ctrl-C detaches.',
    )
    .argument('<image>', 'image as the container engine knows it')
    .argument('[command...]', 'after --: the command and its arguments');
  withRunFlags(command).action(
    action<RunOptions>(async (context, { args, options }) => {
      const [image = '', ...command] = args;
      const spec = sessionSpec({ image, command, options, project: context.project, env: process.env });
      if (options.dryRun === true) return dryRun(context, spec);
      await run(context, spec, options);
    }),
  );
}

async function dryRun({ client, out }: CommandContext, spec: CreateSessionInput): Promise<void> {
  const answer = await (await client()).sessions.dryRun(spec);
  if (out.isData) return out.data(answer);
  out.line(dryRunText(answer, new Date()));
}

async function run(context: CommandContext, spec: CreateSessionInput, options: RunOptions): Promise<void> {
  const isDetached = options.detach === true;
  const client = await context.client({ isFollowing: !isDetached });
  const session = await client.sessions.create(spec);
  if (isDetached) {
    return context.out.done(session, SESSION, `hint: berth why ${session.name} · berth logs -f ${session.name}`);
  }
  context.out.say(`session ${session.name} (${session.id})`);
  await exitWhenEnded(context, client, { session, endsWhenRequeued: options.waitRequeue === false });
}
