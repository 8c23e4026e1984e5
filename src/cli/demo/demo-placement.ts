import { usageError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { gpusInUse, isState, runsOn, waitsFragmented } from './expectations.js';
import type { People } from './people.js';
import { placementTable } from './placement-table.js';
import { type Play, perform, RUNS_UNTIL_STOPPED } from './play.js';
import type { Stage } from './stage.js';
import { withPolicy } from './with-policy.js';

const PROJECT = 'demo-placement';
const NODES = 2;
const GPUS = 8;

/** Experiment 2 of the sessions page: the three cases as the planner decides them, then b and c on containers. */
export const demoPlacement = (options: DemoOptions): Promise<void> =>
  perform(options, {
    title: 'Experiment 2, placement: which node, and whom that strands.',
    persons: [{ name: 'alice', projects: [PROJECT] }],
    nodes: NODES,
    check: ({ gpuCapacity }) => {
      if (gpuCapacity === GPUS) return;
      throw usageError(
        `the experiment is on two nodes with 4 GPUs each; these have ${gpuCapacity} in all`,
        'berth down, then berth up --nodes 2 --simulated-gpus 4',
      );
    },
    act: (stage, people) => act(options, stage, people),
  } satisfies Play);

async function act(options: DemoOptions, stage: Stage, people: People): Promise<void> {
  for (const line of placementTable()) options.say(line);
  const nodes = (await options.admin.nodes.list({ group: options.group }).toArray()).map(({ name }) => name).sort();
  const [first = '', second = ''] = nodes;
  const ask = askerOf(stage, people);
  await withPolicy(options, { placement: 'dispersed' }, async () => {
    await stranded(stage, ask, { first, second });
    await stage.clearAll();
    await largestFirst(stage, ask, { first, second });
    await stage.clearAll();
  });
  await withPolicy(options, { placement: 'concentrated' }, () => packed(stage, ask, { first, second }));
}

type Ask = (label: string, gpuCount: number) => Promise<void>;
interface Two {
  readonly first: string;
  readonly second: string;
}

function askerOf(stage: Stage, { clients }: People): Ask {
  const client = clients['alice'];
  if (client === undefined) throw new Error('nobody is called alice');
  return async (label, gpuCount) => {
    const kernels = [{ slots: { cpuMilli: 100, memoryBytes: 16 * 2 ** 20, gpuCount } }];
    await stage.submit({ label, client, spec: { project: PROJECT, command: RUNS_UNTIL_STOPPED, kernels } });
  };
}

/** Case b under `dispersed`: 1 and 3 GPUs go apart, and nothing is left whole for 4. */
async function stranded(stage: Stage, ask: Ask, { first, second }: Two): Promise<void> {
  await ask('one', 1);
  await stage.until('dispersed, 1 GPU', [runsOn('one', first), gpusInUse(1)]);
  await ask('three', 3);
  await stage.until('dispersed, then 3: most is left on the other node', [runsOn('three', second), gpusInUse(4)]);
  await ask('four', 4);
  await stage.until('dispersed, then 4: four are free, on two nodes', [waitsFragmented('four'), gpusInUse(4)]);
}

/** Case c: the largest first, and both policies place all. */
async function largestFirst(stage: Stage, ask: Ask, { first, second }: Two): Promise<void> {
  await ask('four', 4);
  await stage.until('dispersed, 4 GPUs first', [runsOn('four', first)]);
  await ask('one', 1);
  await ask('three', 3);
  await stage.until('then 1 and 3: all run', [runsOn('one', second), runsOn('three', second), gpusInUse(8)]);
}

/** Case b under `concentrated`: all three run. */
async function packed(stage: Stage, ask: Ask, { first, second }: Two): Promise<void> {
  await ask('one', 1);
  await stage.until('concentrated, 1 GPU', [runsOn('one', first), gpusInUse(1)]);
  await ask('three', 3);
  await stage.until('concentrated, then 3: beside it', [runsOn('three', first), gpusInUse(4)]);
  await ask('four', 4);
  await stage.until('concentrated, then 4: a node is whole', [
    runsOn('four', second),
    isState('one', 'RUNNING'),
    gpusInUse(8),
  ]);
}
