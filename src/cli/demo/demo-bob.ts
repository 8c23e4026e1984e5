import { usageError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { endedBy, gpusInUse, isState, waitsBehind, waitsForCapacity, waitsForQuota } from './expectations.js';
import type { People } from './people.js';
import { type Play, perform, RUNS_UNTIL_STOPPED } from './play.js';
import { releaseOrder } from './release-order.js';
import type { Actor, Stage } from './stage.js';

const GPUS = 4;
/** A program that no image has: the container is created, and cannot start. */
const CANNOT_START = ['/no/such/program'];

const PROJECTS = { alice: 'demo-training', bob: 'demo-serving', carol: 'demo-notebooks' } as const;
type Name = keyof typeof PROJECTS;

/** The article's walk-through: four GPUs, and what Bob and Alice are told in each case. */
export const demoBob = (options: DemoOptions): Promise<void> =>
  perform(options, {
    title: 'Bob and Alice share four GPUs; a project may hold two.',
    persons: (Object.keys(PROJECTS) as Name[]).map((name) => ({ name, projects: [PROJECTS[name]] })),
    check: ({ gpuCapacity }) => {
      if (gpuCapacity === GPUS) return;
      throw usageError(
        `the walk-through is on a node with 4 GPUs; this one has ${gpuCapacity}`,
        'berth down, then berth up --simulated-gpus 4',
      );
    },
    act: (stage, people) => act(options, stage, people),
  } satisfies Play);

async function act(options: DemoOptions, stage: Stage, people: People): Promise<void> {
  const setLimit = quotaSetter(options, people.domain);
  const ask = asker(stage, people);
  try {
    await setLimit('bob', 2);
    await capacityCase(stage, ask);
    await setLimit('alice', 2);
    await quotaCase(stage, ask);
    await setLimit('alice', undefined);
    await failedStart(options, stage, ask);
  } finally {
    await setLimit('alice', undefined);
    await setLimit('bob', undefined);
  }
}

type Ask = (label: string, user: Name, how: { readonly gpus: number; readonly command?: string[] }) => Promise<void>;

function asker(stage: Stage, { clients }: People): Ask {
  return async (label, user, { gpus, command = RUNS_UNTIL_STOPPED }) => {
    const client = clients[user];
    if (client === undefined) throw new Error(`nobody is called ${user}`);
    const kernels = [{ slots: { cpuMilli: 100, memoryBytes: 16 * 2 ** 20, gpuCount: gpus } }];
    const actor: Actor = { label, client, spec: { project: PROJECTS[user], command, kernels } };
    await stage.submit(actor);
  };
}

/** Sets the limit of GPUs of a person's project, or lifts it. */
function quotaSetter({ admin }: DemoOptions, domain: string) {
  return async (user: Name, gpuCount: number | undefined): Promise<void> => {
    const quota = { scope: 'project', name: `${domain}/${PROJECTS[user]}` } as const;
    const { etag } = await admin.quotas.get(quota);
    await admin.quotas.put(quota, gpuCount === undefined ? {} : { gpuCount }, { ifMatch: etag });
  };
}

/** Bob's project holds 1 of 2, so his quota allows one more; but all four GPUs are taken. */
async function capacityCase(stage: Stage, ask: Ask): Promise<void> {
  await ask('notebook', 'bob', { gpus: 1 });
  await ask('busy', 'carol', { gpus: 3 });
  await stage.until("Bob's notebook holds 1 GPU, another project 3", [
    isState('notebook', 'RUNNING'),
    isState('busy', 'RUNNING'),
    gpusInUse(4),
  ]);
  await ask('endpoint', 'bob', { gpus: 1 });
  await stage.until('case 1: Bob asks for 1 more; his quota allows it (1 + 1 <= 2), but no GPU is free', [
    waitsForCapacity('endpoint', { resource: 'gpuCount', more: 1 }),
    gpusInUse(4),
  ]);
  await stage.end('busy');
  await stage.until('the other project lets go: Bob runs', [isState('endpoint', 'RUNNING'), gpusInUse(2)]);
  await stage.end('notebook');
  await stage.end('endpoint');
  await stage.until('Bob ends both', [
    isState('notebook', 'TERMINATED'),
    isState('endpoint', 'TERMINATED'),
    gpusInUse(0),
  ]);
}

/** Alice's project is full, GPUs are free: she waits for her quota, and stops nobody behind her. */
async function quotaCase(stage: Stage, ask: Ask): Promise<void> {
  await ask('training', 'alice', { gpus: 2 });
  await stage.until("Alice's training holds 2 GPUs of her project's 2", [isState('training', 'RUNNING'), gpusInUse(2)]);
  await ask('one-more', 'alice', { gpus: 1 });
  await stage.until('case 2: Alice asks for 1 more: her quota is full, though 2 GPUs are free', [
    waitsForQuota('one-more', { held: 2, requested: 1, limit: 2 }),
    gpusInUse(2),
  ]);
  await ask('behind', 'bob', { gpus: 1 });
  await stage.until('Bob asks for 1 behind her: a wait for quota blocks nobody', [
    isState('behind', 'RUNNING'),
    waitsForQuota('one-more', { held: 2, requested: 1, limit: 2 }),
    gpusInUse(3),
  ]);
  await stage.end('one-more');
  await stage.end('training');
  await stage.end('behind');
  await stage.until('Alice gives up, the others end', [
    isState('one-more', 'CANCELLED'),
    isState('training', 'TERMINATED'),
    isState('behind', 'TERMINATED'),
    gpusInUse(0),
  ]);
}

/** Alice gets all four and her container cannot start: node, then ledger, then Bob. */
async function failedStart({ say }: DemoOptions, stage: Stage, ask: Ask): Promise<void> {
  await ask('holder', 'carol', { gpus: 2 });
  await stage.until('another project holds 2 GPUs', [isState('holder', 'RUNNING'), gpusInUse(2)]);
  await ask('all-four', 'alice', { gpus: GPUS, command: CANNOT_START });
  await ask('next', 'bob', { gpus: 1 });
  await stage.until('Alice asks for all 4 together, Bob for 1 behind her', [
    waitsForCapacity('all-four', { resource: 'gpuCount', more: 2 }),
    waitsBehind('next', 'all-four'),
  ]);
  await stage.end('holder');
  await stage.until('the 2 GPUs come free: Alice gets 4, cannot start, lets go of them; Bob runs', [
    endedBy('all-four', 'bad-command'),
    isState('next', 'RUNNING'),
    gpusInUse(1),
  ]);
  const steps = releaseOrder(await stage.history('all-four'), await stage.history('next'));
  stage.note('releaseOrder', steps);
  for (const { what, at } of steps) say(`  ${at}  ${what}`);
}
