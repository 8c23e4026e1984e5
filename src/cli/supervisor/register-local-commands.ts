import { type Command, InvalidArgumentError, Option } from 'commander';
import { stateDirPath } from '../../platform/state-dir.js';
import { parseBytes } from './parse-bytes.js';

interface StateFlag {
  readonly state?: string;
}

interface UpCommandFlags extends StateFlag {
  readonly controlWorkers?: number;
  readonly gatewayWorkers?: number;
  readonly nodes?: number;
  readonly cpus?: number;
  readonly memory?: number;
  readonly simulatedGpus?: number;
  readonly gpuMemory?: number;
  readonly foreground?: boolean;
  readonly timeout: number;
}

const say = (line: string): void => void process.stderr.write(`${line}\n`);
const print = (lines: readonly string[]): void => void process.stdout.write(`${lines.join('\n')}\n`);

function whole(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (/^\d+$/.test(text) && value >= min && value <= max) return value;
    throw new InvalidArgumentError(`write a whole number from ${min} to ${max}.`);
  };
}

function bytes(text: string): number {
  try {
    return parseBytes(text);
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
}

const stateOption = (): Option => new Option('--state <dir>', 'state directory').env('BERTH_STATE');

/** True when the program's `-o json` or `--json` asks for data. */
function wantsJson(command: Command): boolean {
  const { output, json } = command.optsWithGlobals<{ output?: string; json?: boolean }>();
  return json === true || (output ?? process.env['BERTH_OUTPUT']) === 'json';
}

async function runUp(flags: UpCommandFlags): Promise<void> {
  const [{ up }, { renderUrls }] = await Promise.all([import('./up.js'), import('./render.js')]);
  const { controlWorkers, gatewayWorkers, nodes, cpus, memory, simulatedGpus, gpuMemory } = flags;
  const sizes = { cpus, memoryBytes: memory, simulatedGpus, gpuMemoryBytes: gpuMemory };
  const wanted = { controlWorkers, gatewayWorkers, nodes, ...sizes };
  const outcome = await up({
    stateRoot: stateDirPath(flags.state, process.env),
    flags: Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== undefined)),
    wantsUsualPorts: flags.state === undefined,
    timeoutSeconds: flags.timeout,
    onProgress: say,
  });
  if (outcome.kind === 'failed') {
    say(`berth is not up: ${outcome.problem}\nlook further with: berth doctor`);
    process.exitCode = 1;
    return;
  }
  say(outcome.kind === 'started' ? 'berth is up' : 'berth was up already');
  print(renderUrls(outcome.status.urls));
  if (flags.foreground === true) await followUntilEnd(flags);
}

/** Ctrl-C stops what was started, as `berth down` does. */
async function followUntilEnd(flags: StateFlag): Promise<void> {
  say('press Ctrl-C to stop it');
  await new Promise((resolve) => {
    const keep = setInterval(() => undefined, 60_000);
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      process.once(name, () => {
        clearInterval(keep);
        resolve(name);
      });
    }
  });
  await runDown(flags);
}

async function runDown(flags: StateFlag): Promise<void> {
  const [{ down }, { stateDir }] = await Promise.all([import('./down.js'), import('../../platform/state-dir.js')]);
  const root = stateDirPath(flags.state, process.env);
  const lines = await down(stateDir(root));
  for (const line of lines.length === 0 ? [`nothing ran on ${root}`] : lines) say(line);
}

async function runStatus(flags: StateFlag, command: Command): Promise<void> {
  const [{ status }, { stateDir }] = await Promise.all([import('./status.js'), import('../../platform/state-dir.js')]);
  const report = await status(stateDir(stateDirPath(flags.state, process.env)));
  if (wantsJson(command)) print([JSON.stringify(report, null, 2)]);
  else print((await import('./render.js')).renderStatus(report));
  if (report.phase !== 'ready') process.exitCode = 1;
}

async function runDoctor(flags: StateFlag, command: Command): Promise<void> {
  const [{ doctor }, { stateDir }] = await Promise.all([import('./doctor.js'), import('../../platform/state-dir.js')]);
  const results = await doctor(stateDir(stateDirPath(flags.state, process.env)), process.env);
  if (wantsJson(command)) print([JSON.stringify({ items: results }, null, 2)]);
  else print((await import('./render.js')).renderChecks(results));
  if (results.some(({ verdict }) => verdict === 'fail')) process.exitCode = 1;
}

function registerUp(program: Command): void {
  program
    .command('up')
    .description('start Berth on this machine, and wait until it serves')
    .addOption(stateOption())
    .option('--control-workers <n>', 'control workers', whole(1, 16))
    .option('--gateway-workers <n>', 'processes of the gateway, on its one port', whole(1, 64))
    .option('--nodes <n>', 'node agents on this machine, each with the amounts below', whole(1, 16))
    .option('--cpus <n>', 'cores that a node shares out', whole(1, 4096))
    .option('--memory <size>', 'memory that a node shares out, such as 16Gi', bytes)
    .option('--simulated-gpus <n>', 'pretended devices beside the found ones', whole(0, 64))
    .option('--gpu-memory <size>', 'memory of a pretended device', bytes)
    .option('--foreground', 'stay, and stop everything at Ctrl-C')
    .option('--timeout <seconds>', 'how long to wait for it', whole(1, 3600), 120)
    .action((flags: UpCommandFlags) => runUp(flags));
}

/** Programs use these two: the supervisor's own process, and `npm run worker:control`. */
function registerHidden(program: Command): void {
  program
    .command('supervise', { hidden: true })
    .requiredOption('--state <dir>')
    .action(async ({ state }: { readonly state: string }) =>
      (await import('./run-supervisor.js')).runSupervisor(state),
    );
  program
    .command('worker', { hidden: true })
    .addOption(stateOption())
    .addArgument(program.createArgument('<name>').choices(['control', 'node', 'api', 'storage']))
    .action(async (name: 'control' | 'node' | 'api' | 'storage', flags: StateFlag) => {
      const { startWorker } = await import('./start-worker.js');
      process.exitCode = await startWorker(name, stateDirPath(flags.state, process.env));
    });
}

/** Adds `up`, `down`, `status` and `doctor`: they need no API and no key, only this machine. */
export function registerLocalCommands(program: Command): void {
  registerUp(program);
  program
    .command('down')
    .description('stop Berth on this machine; sessions’ containers go on')
    .addOption(stateOption())
    .action((flags: StateFlag) => runDown(flags));
  program.command('status').description('what runs on this machine').addOption(stateOption()).action(runStatus);
  program
    .command('doctor')
    .description('find what is wrong with this machine, and say the mend')
    .addOption(stateOption())
    .action(runDoctor);
  registerHidden(program);
}
