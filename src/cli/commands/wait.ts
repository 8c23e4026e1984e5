import type { Command } from 'commander';
import { hasEnded, MILESTONES as MOMENTS } from '../../lifecycle/milestones.js';
import { parseDurationSeconds } from '../amounts.js';
import { endText } from '../attached.js';
import { CliError, ExitWith, usageError } from '../cli-error.js';
import { SESSION } from '../columns.js';
import { action } from '../command-context.js';
import { EXIT } from '../exit-codes.js';
import { exitCodeOfSession } from '../session-exit.js';
import { untilEndedOrRequeued } from '../until-requeued.js';

interface WaitOptions {
  readonly for: string;
  readonly timeout?: string;
  /** False with `--no-wait-requeue`. */
  readonly waitRequeue?: boolean;
}

export function registerWait(program: Command): void {
  program
    .command('wait')
    .summary('wait until a session runs, is healthy, or has ended')
    .description("Waits for a session. For its end, the exit code is the session's own; 124 when the time is over.")
    .argument('<session>', 'name or id')
    .option('--for <moment>', MOMENTS.join(', '), 'ended')
    .option('--timeout <time>', 'give up after 30s, 10m …')
    .option('--no-wait-requeue', 'when it is preempted and goes back to the queue: exit with 75')
    .action(
      action<WaitOptions>(async ({ client, out }, { args: [session = ''], options }) => {
        const moment = MOMENTS.find((name) => name === options.for);
        if (moment === undefined) throw usageError(`--for: "${options.for}" is none of ${MOMENTS.join(', ')}`);
        const { timeout } = options;
        const timeoutSeconds =
          timeout === undefined ? undefined : parseDurationSeconds({ name: '--timeout', text: timeout });
        const berth = await client();
        if (options.waitRequeue === false && moment !== 'ended') {
          throw usageError(`--no-wait-requeue goes with --for ended, not with --for ${moment}`);
        }
        const found =
          options.waitRequeue === false
            ? await untilEndedOrRequeued(berth, session, timeoutSeconds)
            : await berth.sessions.wait(session, { for: moment, timeoutSeconds });
        await out.one(found, SESSION);
        if (moment === 'ended') throw new ExitWith(exitCodeOfSession(found));
        if (hasEnded(found))
          throw new CliError(`it ended before: ${endText(found)}`, EXIT.failure, `berth history ${session}`);
      }),
    );
}
