import type { Command } from 'commander';
import type { SessionState } from '../../contract/index.js';
import { EVENT, SESSION } from '../columns.js';
import { action } from '../command-context.js';
import { showList } from '../kinds.js';
import { sessionText } from '../session-text.js';
import { whyText } from '../why-text.js';

interface PsOptions {
  readonly all?: boolean;
  readonly state?: readonly string[];
  readonly user?: string;
  readonly project?: string;
  readonly group?: string;
  readonly label?: readonly string[];
}

export function registerPs(program: Command): void {
  program
    .command('ps')
    .summary('list sessions')
    .description('Sessions that have not ended, newest first.')
    .option('-a, --all', 'ended ones, too')
    .option('--state <state...>', 'only in these states')
    .option('--user <user>', "only this user's")
    .option('--project <project>', "only this project's")
    .option('--group <group>', 'only of this resource group')
    .option('--label <key=value...>', 'only with these labels')
    .action(
      action<PsOptions>(async (context, { options }) => {
        const { all, state, user, project, group, label } = options;
        const isOpen = all !== true && state === undefined;
        const query = {
          ...(isOpen ? { open: true } : {}),
          state: state?.map((name) => name.toUpperCase() as SessionState),
          user,
          project,
          group,
          label: label?.map((text) => text.replace('=', ':')),
        };
        await showList(context, (await context.client()).sessions.list(query), SESSION);
      }),
    );
}

export function registerWhy(program: Command): void {
  program
    .command('why')
    .summary('why a session does not run')
    .description('Why a session waits or does not start, what stands in its way, and what would change that.')
    .argument('<session>', 'name or id')
    .action(
      action(async ({ client, out }, { args: [session = ''] }) => {
        const why = await (await client()).sessions.why(session);
        if (out.isData) return out.data(why);
        if (out.isQuiet || out.format === 'name') return out.line(why.reason ?? why.state);
        out.line(whyText(why, new Date()));
      }),
    );
}

export function registerHistory(program: Command): void {
  program
    .command('history')
    .summary("a session's changes, with who caused them")
    .argument('<session>', 'name or id')
    .action(
      action(async (context, { args: [session = ''] }) => {
        await showList(context, (await context.client()).sessions.history(session), EVENT);
      }),
    );
}

export function registerInspect(program: Command): void {
  program
    .command('inspect')
    .summary('all about sessions: attempts, times, devices and what they promise')
    .argument('<session...>', 'names or ids')
    .action(
      action(async ({ client, out }, { args }) => {
        const berth = await client();
        for (const name of args) {
          const session = await berth.sessions.get(name);
          if (out.isQuiet || out.format !== 'table') await out.one(session, SESSION);
          else out.line(sessionText(session, new Date()));
        }
      }),
    );
}
