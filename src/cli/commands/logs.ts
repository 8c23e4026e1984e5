import type { Command } from 'commander';
import type { Client } from '../../sdk/index.js';
import { parseCount, parseDurationMilliseconds } from '../amounts.js';
import { CliError, ExitWith } from '../cli-error.js';
import { action, interruptSignal } from '../command-context.js';
import { EXIT } from '../exit-codes.js';
import { passFrames, passOutput } from '../pass-output.js';
import { exitCodeOfSession } from '../session-exit.js';

interface LogsOptions {
  readonly follow?: boolean;
  readonly tail?: string;
  readonly since?: string;
  readonly kernel?: string;
  readonly exitStatus?: boolean;
}

export function registerLogs(program: Command): void {
  program
    .command('logs')
    .summary('output of a session')
    .description("A kernel's output: its stdout on ours, its stderr on ours.")
    .argument('<session>', 'name or id')
    .option('-f, --follow', 'until it ends')
    .option('--tail <lines>', 'only the last lines')
    .option('--since <time>', 'only of the last 10m, 2h …')
    .option('--kernel <role>', 'main when omitted; worker1 …')
    .option('--exit-status', "wait for its end and exit with the session's code")
    .action(
      action<LogsOptions>(async ({ client }, { args: [session = ''], options }) => {
        const { tail, since, kernel, exitStatus } = options;
        const signal = interruptSignal();
        const follow = options.follow === true || exitStatus === true;
        const berth = await client({ isFollowing: follow });
        const how = {
          follow,
          tail: tail === undefined ? undefined : parseCount({ name: '--tail', text: tail }),
          sinceSeconds: since === undefined ? undefined : sinceSeconds(since),
          kernel,
          signal,
        };
        do {
          if (follow) await untilRunning(berth, session, signal);
          await passLogs(berth, session, how);
        } while (follow && (await goesOn(berth, session, signal)));
        if (exitStatus !== true) return;
        throw new ExitWith(exitCodeOfSession(await berth.sessions.wait(session, { signal })));
      }),
    );
}

interface Wanted {
  readonly follow: boolean;
  readonly tail: number | undefined;
  readonly sinceSeconds: number | undefined;
  readonly kernel: string | undefined;
  readonly signal: AbortSignal;
}

/** The output of its present attempt. Where it breaks off, the rest is read from what the node kept. */
async function passLogs(client: Client, session: string, how: Wanted): Promise<void> {
  const { follow, tail, sinceSeconds, kernel, signal } = how;
  const passed = { stdout: 0, stderr: 0 };
  const brokeOff = await passFrames(client.sessions.logs(session, how), passed);
  if (brokeOff === undefined) return;
  const isPart = tail !== undefined || sinceSeconds !== undefined;
  const source = { client, session, signal, kernel };
  const isWhole = follow && !isPart && (await passOutput(source, passed, 'kept'));
  if (!isWhole) throw new CliError(`the output broke off: ${brokeOff}`, EXIT.failure, `berth logs ${session}`);
}

const LOOK_AGAIN_MILLISECONDS = 500;

/** After the output's end: whether the session was put back in the queue, and will have more to say. */
async function goesOn({ sessions }: Client, session: string, signal: AbortSignal): Promise<boolean> {
  for (;;) {
    const { state } = await sessions.get(session, { signal });
    if (state !== 'PREEMPTING') return BEFORE_RUNNING.includes(state);
    await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MILLISECONDS));
  }
}

const BEFORE_RUNNING: readonly string[] = ['SUBMITTED', 'PENDING', 'SCHEDULED', 'PREPARING', 'CREATING'];

/** There is nothing to follow before it runs; one that ends without has no output, or ended at once. */
async function untilRunning({ sessions }: Client, session: string, signal: AbortSignal): Promise<void> {
  const { id, name, state } = await sessions.get(session, { signal });
  if (!BEFORE_RUNNING.includes(state)) return;
  process.stderr.write(`${name} is ${state}; its output follows when it runs (why: berth why ${name})\n`);
  await sessions.wait(id, { for: 'running', signal });
}

/** Whole seconds, upwards: rather a line too many than one too few. */
const sinceSeconds = (text: string): number => Math.ceil(parseDurationMilliseconds({ name: '--since', text }) / 1000);
