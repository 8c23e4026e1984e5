import { Command, Option } from 'commander';
import { registerApps } from './commands/apps.js';
import { registerBudget } from './commands/budget.js';
import { registerContext } from './commands/context.js';
import { registerDemo } from './commands/demo.js';
import { registerDeploy } from './commands/deploy.js';
import { registerExec } from './commands/exec.js';
import { registerFolder } from './commands/folder.js';
import { registerDescribe, registerGet } from './commands/get.js';
import { registerGpu } from './commands/gpu.js';
import { registerGroup } from './commands/group.js';
import { registerKey } from './commands/key.js';
import { registerLogin } from './commands/login.js';
import { registerLogs } from './commands/logs.js';
import { registerModel } from './commands/model.js';
import { registerModelsPlan } from './commands/models-plan.js';
import { registerNode } from './commands/node.js';
import { registerPlan } from './commands/plan.js';
import { registerPool } from './commands/pool.js';
import { registerPortForward } from './commands/port-forward.js';
import { registerQueue } from './commands/queue.js';
import { registerQuota } from './commands/quota.js';
import { registerRun } from './commands/run.js';
import { registerHistory, registerInspect, registerPs, registerWhy } from './commands/sessions.js';
import { registerSimulate } from './commands/simulate.js';
import { registerSnapshot } from './commands/snapshot.js';
import { registerKill, registerStop } from './commands/stop.js';
import { registerDomain, registerProject, registerUser } from './commands/tenancy.js';
import { registerTop } from './commands/top.js';
import { registerWait } from './commands/wait.js';
import { FORMATS } from './output.js';
import { registerLocalCommands } from './supervisor/register-local-commands.js';
import { VERSION } from './version.js';

const SECTIONS: readonly (readonly [heading: string, register: readonly ((program: Command) => void)[]])[] = [
  [
    'Sessions:',
    [
      registerRun,
      registerPs,
      registerTop,
      registerInspect,
      registerLogs,
      registerExec,
      registerApps,
      registerPortForward,
      registerWhy,
      registerWait,
      registerStop,
      registerKill,
    ],
  ],
  [
    'Queue and quota:',
    [registerQueue, registerQuota, registerBudget, registerHistory, registerSnapshot, registerPlan, registerSimulate],
  ],
  ['Models:', [registerPool, registerModel, registerDeploy, registerModelsPlan, registerGpu]],
  ['Resources:', [registerGet, registerDescribe, registerNode, registerGroup, registerFolder]],
  ['People:', [registerLogin, registerContext, registerKey, registerUser, registerProject, registerDomain]],
  ['This machine:', [registerLocalCommands, registerDemo]],
];

/** The whole command line but for completion. Nothing heavy is loaded here: a command loads what it needs. */
export function createProgram(): Command {
  const program = new Command('berth')
    .description('Berth shares GPUs between sessions: notebooks, batch jobs, services.')
    .version(VERSION, '-V, --version')
    .exitOverride()
    .configureOutput({ outputError: () => undefined })
    .showSuggestionAfterError()
    .addOption(new Option('-o, --output <format>', 'how to print').choices(FORMATS).env('BERTH_OUTPUT'))
    .option('--json', 'as -o json')
    .option('-q, --quiet', 'ids only')
    .option('--context <name>', 'a Berth you have logged in to')
    .option('--url <url>', 'of the API (BERTH_URL)')
    .option('--token <key>', 'API key (BERTH_TOKEN; others on this machine can see an option)')
    .option('--no-input', 'never ask')
    .helpCommand(false)
    .addHelpText('after', '\nExit codes: 0 ok, 1 failure, 2 usage, 3 not found, 4 denied, 5 conflict, 6 never fits,');
  for (const [heading, registers] of SECTIONS) {
    program.commandsGroup(heading);
    for (const register of registers) register(program);
  }
  program.addHelpText(
    'after',
    '7 unreachable, 75 preempted and requeued, 124 timeout, 125 not started, 130 interrupted; run, wait and exec give the command’s own.',
  );
  describeBySummary(program);
  return program;
}

/** A command that says nothing more of itself says in its own help what its parent's list says of it. */
function describeBySummary(parent: Command): void {
  for (const command of parent.commands) {
    const summary = command.summary();
    if (command.description() === '' && summary !== '') {
      command.description(`${summary.charAt(0).toUpperCase()}${summary.slice(1)}.`);
    }
    describeBySummary(command);
  }
}
