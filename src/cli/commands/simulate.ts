import { type Command, Option } from 'commander';
import { ExitWith, usageError } from '../cli-error.js';
import { action, type CommandContext } from '../command-context.js';
import { EXIT } from '../exit-codes.js';
import type { StreamFlags } from '../simulate/read-stream.js';

interface SimulateFlags extends StreamFlags {
  readonly cluster?: string;
  readonly gpus: number;
  readonly nodeGpus: number;
  readonly policy: readonly string[];
  readonly drainHours: number;
  readonly untilHours?: number;
  readonly out?: string;
  readonly replay?: string;
}

export function registerSimulate(program: Command): void {
  program
    .command('simulate')
    .summary('what a policy would do with a stream of jobs; needs no server')
    .description(
      'Runs a stream of submissions through the scheduler with a virtual clock, under one policy or several side by side.',
    )
    .option('--trace <file>', 'submissions: CSV with a head line, or the Standard Workload Format (.swf)')
    .addOption(new Option('--format <format>', 'of the trace; by its ending when omitted').choices(['csv', 'swf']))
    .option('--columns <list>', 'of a CSV whose heads are not known: submit=COL,gpus=COL,duration=COL,project=COL,…')
    .option('--generate <file>', 'settings of a made-up stream (YAML); a plain one when nothing is named')
    .option('--history <group>', 'what ran in a resource group, by the API')
    .option('--jobs <n>', 'only so many', wholeNumber('--jobs'))
    .option('--load <x>', 'stretch the times between submissions to this load', positive('--load'))
    .option('--seed <n>', 'of a made-up stream', wholeNumber('--seed', 0))
    .option('--cluster <file>', 'nodes (YAML)')
    .option('--gpus <n>', 'without --cluster: so many GPUs', wholeNumber('--gpus'), 64)
    .option('--node-gpus <n>', 'without --cluster: GPUs of a node', wholeNumber('--node-gpus'), 8)
    .option('--policy <file>', 'a policy (YAML); may be given several times', collect, [])
    .option('--drain-hours <h>', 'within which a marked host has to be empty', positive('--drain-hours'), 24)
    .option('--until-hours <h>', 'end the run then', positive('--until-hours'))
    .option(
      '--replay <file>',
      'passes that a control worker recorded (BERTH_RECORD_PASSES): plan each again, and compare',
    )
    .option('--out <folder>', 'write comparison.json and plots as SVG and PNG')
    .action(
      action<SimulateFlags>((context, { options }) =>
        options.replay === undefined ? run(context, options) : runReplay(context, options.replay),
      ),
    );
}

async function run({ out, client }: CommandContext, flags: SimulateFlags): Promise<void> {
  const [{ readCluster, readPolicy }, { readStream }, { PLAIN_POLICY, simulate }] = await Promise.all([
    import('../simulate/read-settings.js'),
    import('../simulate/read-stream.js'),
    import('../simulate/simulate.js'),
  ]);
  const { simulationClusterSchema } = await import('../../contract/simulation.js');
  const cluster =
    flags.cluster === undefined
      ? simulationClusterSchema.parse({ nodes: plainNodes(flags) })
      : await readCluster(flags.cluster);
  const policies = await Promise.all(flags.policy.map(readPolicy));
  if (new Set(policies.map(({ name }) => name)).size < policies.length)
    throw usageError('two policies have one name: give them a "name:"');
  const gpuCount = cluster.nodes.reduce((sum, { count, gpus }) => sum + count * gpus, 0);
  const stream = await readStream(flags, gpuCount, () => client());
  for (const text of stream.leftOut) out.say(`left out: ${text}`);
  const { drainHours, untilHours } = flags;
  const asked = { stream, cluster, policies: policies.length > 0 ? policies : [PLAIN_POLICY], drainHours };
  const { comparison, results } = await refusingStreams(() =>
    simulate({ ...asked, ...(untilHours !== undefined && { untilHours }) }),
  );
  if (flags.out !== undefined) {
    const { writeResults } = await import('../simulate/write-results.js');
    const runs = results.map((result, index) => ({ name: comparison.policies[index]?.name ?? '', result }));
    const names = await writeResults(flags.out, { comparison, runs });
    out.say(`${names.length} files in ${flags.out}: ${names.join(', ')}`);
  }
  if (out.isData) return out.data(comparison);
  const { comparisonText } = await import('../simulate/comparison-text.js');
  out.line(comparisonText(comparison));
}

/** 1 when a pass is planned otherwise than it was. */
async function runReplay({ out }: CommandContext, file: string): Promise<void> {
  const { replay, replayText } = await import('../simulate/replay.js');
  const replayed = await replay(file);
  if (out.isData) await out.data(replayed);
  else out.line(replayText(replayed));
  if (replayed.difference !== null) throw new ExitWith(EXIT.failure);
}

/** The last node is smaller where the numbers do not divide. */
function plainNodes({ gpus, nodeGpus }: SimulateFlags): readonly object[] {
  const [count, rest] = [Math.floor(gpus / nodeGpus), gpus % nodeGpus];
  return [
    ...(count > 0 ? [{ count, prefix: 'node', gpus: nodeGpus }] : []),
    ...(rest > 0 ? [{ count: 1, prefix: 'rest', gpus: rest }] : []),
  ];
}

/** What is wrong with the files is told as a wrong command line. */
async function refusingStreams<Result>(of: () => Result): Promise<Result> {
  const { StreamError } = await import('../../simulator/stream.js');
  try {
    return of();
  } catch (error) {
    throw error instanceof StreamError ? usageError(error.message) : error;
  }
}

const collect = (value: string, before: readonly string[]): readonly string[] => [...before, value];

function wholeNumber(option: string, least = 1): (text: string) => number {
  return (text) => {
    if (!/^\d{1,9}$/.test(text) || Number(text) < least)
      throw usageError(`${option}: "${text}" is not a whole number of at least ${least}`);
    return Number(text);
  };
}

function positive(option: string): (text: string) => number {
  return (text) => {
    const value = Number(text);
    if (!Number.isFinite(value) || value <= 0) throw usageError(`${option}: "${text}" is not a number above 0`);
    return value;
  };
}
