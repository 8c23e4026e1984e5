import type { Command } from 'commander';
import { parseDurationSeconds } from '../amounts.js';
import { SESSION } from '../columns.js';
import { action } from '../command-context.js';

interface StopOptions {
  readonly time?: string;
  readonly reason?: string;
}

export function registerStop(program: Command): void {
  program
    .command('stop')
    .summary('end sessions')
    .description('Ends sessions: SIGTERM, the grace period, SIGKILL. A waiting one is cancelled. Twice is once.')
    .argument('<session...>', 'names or ids')
    .option('--time <time>', 'grace period instead of its own: 30s, 2m')
    .option('--reason <text>', 'kept in its history')
    .action(
      action<StopOptions>(async ({ client, out }, { args, options }) => {
        const { time, reason } = options;
        const graceSeconds = time === undefined ? undefined : parseDurationSeconds({ name: '--time', text: time });
        const how = {
          ...(graceSeconds === undefined ? {} : { graceSeconds }),
          ...(reason === undefined ? {} : { reason }),
        };
        const berth = await client();
        for (const session of args) {
          const stopped = await berth.sessions.stop(session, how);
          const isOver = stopped.endedAt !== null;
          const text = isOver
            ? `${stopped.state}: it has ended`
            : `${stopped.state}; follow: berth wait ${stopped.name}`;
          await out.done(stopped, SESSION, text);
        }
      }),
    );
}

export function registerKill(program: Command): void {
  program
    .command('kill')
    .summary('end sessions at once')
    .description('SIGKILL, without a grace period.')
    .argument('<session...>', 'names or ids')
    .action(
      action(async ({ client, out }, { args }) => {
        const berth = await client();
        for (const session of args) {
          const stopped = await berth.sessions.stop(session, { force: true, graceSeconds: 0 });
          await out.done(stopped, SESSION, stopped.state);
        }
      }),
    );
}
