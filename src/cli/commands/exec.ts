import type { Command } from 'commander';
import { CliError, ExitWith, usageError } from '../cli-error.js';
import { action, interruptSignal } from '../command-context.js';
import { EXIT } from '../exit-codes.js';
import { passFrame } from '../pass-output.js';
import { parseEnvironment } from '../run-options.js';

interface ExecOptions {
  readonly kernel?: string;
  readonly workdir?: string;
  readonly env?: readonly string[];
  readonly interactive?: boolean;
  readonly tty?: boolean;
}

const collect = (value: string, previous: readonly string[] = []): readonly string[] => [...previous, value];

export function registerExec(program: Command): void {
  program
    .command('exec')
    .summary('run a command in a running session')
    .description("Runs a command beside the session's own; the exit code is the command's.")
    .argument('<session>', 'name or id')
    .argument('[command...]', 'after --: the command and its arguments')
    .option('-i, --interactive', 'with our input')
    .option('-t, --tty', 'with a terminal: exec -it SESSION -- bash')
    .option('--kernel <role>', 'main when omitted; worker1 …')
    .option('--workdir <path>', 'working directory in the container')
    .option('-e, --env <name=value>', 'environment', collect)
    .action(
      action<ExecOptions>(async ({ client }, { args: [session = '', ...command], options }) => {
        if (command.length === 0) throw usageError('there is no command', `berth exec ${session} -- ls -l`);
        const { kernel, workdir, env, interactive, tty } = options;
        const what = {
          command,
          environment: parseEnvironment(env ?? [], process.env),
          ...(workdir === undefined ? {} : { workdir }),
        };
        const where = kernel === undefined ? {} : { kernel };
        const berth = await client({ isFollowing: true });
        if (interactive === true || tty === true) {
          const { url } = await berth.apps.terminal(session, where);
          const { runTerminal } = await import('../run-terminal.js');
          throw new ExitWith(await runTerminal(url, { ...what, tty: tty === true }, process));
        }
        let exitCode: number | undefined;
        for await (const frame of berth.sessions.exec(session, { ...what, ...where }, { signal: interruptSignal() })) {
          await passFrame(frame);
          if (frame.kind === 'exit') exitCode = frame.exitCode;
        }
        if (exitCode === undefined) throw new CliError('the command broke off without an exit code', EXIT.unreachable);
        throw new ExitWith(exitCode);
      }),
    );
}
