import type { Command } from 'commander';
import { parseDurationSeconds } from '../amounts.js';
import { endText } from '../attached.js';
import { CliError, ExitWith, usageError } from '../cli-error.js';
import { SESSION } from '../columns.js';
import { action } from '../command-context.js';
import { EXIT } from '../exit-codes.js';
import { exitCodeOfSession } from '../session-exit.js';

const MOMENTS = ['admitted', 'placed', 'running', 'healthy', 'ended'] as const;

interface WaitOptions {
  readonly for: string;
  readonly timeout?: string;
}

export function registerWait(program: Command): void {
  program
    .command('wait')
    .summary('wait until a session runs, is healthy, or has ended')
    .description("Waits for a session. For its end, the exit code is the session's own; 124 when the time is over.")
    .argument('<session>', 'name or id')
    .option('--for <moment>', MOMENTS.join(', '), 'ended')
    .option('--timeout <time>', 'give up after 30s, 10m …')
    .action(
      action<WaitOptions>(async ({ client, out }, { args: [session = ''], options }) => {
        const moment = MOMENTS.find((name) => name === options.for);
        if (moment === undefined) throw usageError(`--for: "${options.for}" is none of ${MOMENTS.join(', ')}`);
        const { timeout } = options;
        const timeoutSeconds =
          timeout === undefined ? undefined : parseDurationSeconds({ name: '--timeout', text: timeout });
        const found = await (await client()).sessions.wait(session, { for: moment, timeoutSeconds });
        await out.one(found, SESSION);
        const hasEnded = found.endedAt !== null || ['TERMINATED', 'CANCELLED', 'ERROR'].includes(found.state);
        if (moment === 'ended') throw new ExitWith(exitCodeOfSession(found));
        if (hasEnded)
          throw new CliError(`it ended before: ${endText(found)}`, EXIT.failure, `berth history ${session}`);
      }),
    );
}
