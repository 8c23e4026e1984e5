import { createHash, randomUUID } from 'node:crypto';
import type { CreateSessionInput } from '../../contract/index.js';
import { type Client, NotFoundError } from '../../sdk/index.js';
import { CliError, usageError } from '../cli-error.js';
import { formatCpu } from '../format-amounts.js';
import type { DemoOptions } from './demo-options.js';
import { cpusInUse, endedBy, isState, waitsForCapacity } from './expectations.js';
import type { People } from './people.js';
import { type Play, perform } from './play.js';
import type { Stage } from './stage.js';
import { measuredUse, outputOf, until } from './watch-use.js';
import { withPolicy } from './with-policy.js';

const PROJECT = 'demo-idle';
const CPUS = 4000;
const THRESHOLD_MILLI = 100;
const FILE = 'notebook.bin';
/** Between the attachment and the start of the one that waits, beyond the window. */
const LATE_SECONDS_MAX = 30;

/** Sleeps in one piece, so that it uses nothing; ends at once when it is asked to. */
const SLEEPS = 'trap "exit 0" TERM; while :; do sleep 3600 & wait; done';
const WORKS = 'trap "exit 0" TERM; while :; do i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done; sleep 0.05; done';

export interface IdleDemoOptions extends DemoOptions {
  /** Of the policy; the control phase takes as long. */
  readonly windowSeconds: number;
}

/** Experiment 3 of the sessions page: an idle notebook is reclaimed, and its folder stays as it was. */
export const demoIdle = (options: IdleDemoOptions): Promise<void> => perform(options, playOf(options));

const playOf = (options: IdleDemoOptions): Play => ({
  title: `Experiment 3, idle: 4 CPU; a notebook holds 3 and does nothing, a worker works with 1, one waits for 1.`,
  persons: ['alice', 'bob', 'carol'].map((name) => ({ name, projects: [PROJECT] })),
  check: ({ cpuMilliCapacity }) => {
    if (cpuMilliCapacity === CPUS) return;
    throw usageError(
      `the experiment is on a node with 4 CPU; this one shares out ${formatCpu(cpuMilliCapacity)}`,
      'berth down, then berth up --cpus 4',
    );
  },
  act: async (stage, { clients }: People) => {
    const { alice, bob, carol } = clients;
    if (alice === undefined || bob === undefined || carol === undefined) throw new Error('somebody is missing');
    const folder = await alice.folders.create({ name: `demo-idle-${randomUUID().slice(0, 8)}`, project: PROJECT });
    try {
      await experiment({ options, stage, alice, bob, carol, folder: folder.id });
    } finally {
      await stage.clear();
      await purge(alice, folder.id);
      options.say('the folder is purged');
    }
  },
});

interface Scene {
  readonly options: IdleDemoOptions;
  readonly stage: Stage;
  readonly alice: Client;
  readonly bob: Client;
  readonly carol: Client;
  readonly folder: string;
}

type Wanted = Pick<CreateSessionInput, 'kind' | 'command' | 'mounts'> & {
  readonly label: string;
  readonly cpuMilli: number;
};

async function submit(stage: Stage, client: Client, { label, cpuMilli, ...spec }: Wanted) {
  const kernels = [{ slots: { cpuMilli, memoryBytes: 16 * 2 ** 20 } }];
  return stage.submit({ label, client, spec: { project: PROJECT, kernels, ...spec } });
}

async function experiment(scene: Scene): Promise<void> {
  const { options, stage, alice, bob, carol, folder } = scene;
  await mustHaveNoPolicy(options);
  const mounts = [{ folder, target: '/data' }];
  const writes = `dd if=/dev/urandom of=/data/${FILE} bs=65536 count=16 2>/dev/null; sync; ${SLEEPS}`;
  const command = ['sh', '-c', writes];
  const { id } = await submit(stage, alice, {
    label: 'notebook',
    kind: 'interactive',
    command,
    mounts,
    cpuMilli: 3000,
  });
  await submit(stage, bob, { label: 'worker', kind: 'batch', command: ['sh', '-c', WORKS], cpuMilli: 1000 });
  await stage.until('the notebook and the worker run', [isState('notebook', 'RUNNING'), isState('worker', 'RUNNING')]);
  await submit(stage, carol, { label: 'waiting', kind: 'batch', command: ['sh', '-c', SLEEPS], cpuMilli: 1000 });
  const before = await sha256In(alice, id);
  options.say(`  sha256 of ${FILE} in the notebook's folder: ${before}`);

  await controlPhase(scene);
  const worker = await lifeOf(bob);
  await withPolicy(options, { idle: policiesOf(options) }, () => reclaimed(scene, before));
  const still = await lifeOf(bob);
  stage.note('worker', { before: worker, after: still });
  if (still !== worker) throw new CliError(`the worker is not the one that it was: ${worker} before, ${still} after`);
}

/** Which life of the worker runs: another attempt has another start. */
async function lifeOf(client: Client): Promise<string> {
  const { state, attempt, startedAt } = await client.sessions.get('worker');
  return `${state}, attempt ${attempt}, since ${startedAt ?? '?'}`;
}

/** Nothing is reclaimed without a policy, however idle it is: for as long as the window will be, and both measured. */
async function controlPhase({ options, stage }: Scene): Promise<void> {
  const step = `without a policy: nothing is reclaimed for ${options.windowSeconds} s`;
  const stay = [
    isState('notebook', 'RUNNING'),
    isState('worker', 'RUNNING'),
    waitsForCapacity('waiting', { resource: 'cpuMilli', more: 1000 }),
    cpusInUse(CPUS),
  ];
  await stage.hold(step, stay, options.windowSeconds);
  const use = await measuredUse(options, ['notebook', 'worker']);
  stage.note('control', { seconds: options.windowSeconds, cpuMilli: use });
  if ((use['notebook'] ?? CPUS) >= THRESHOLD_MILLI || (use['worker'] ?? 0) < THRESHOLD_MILLI) {
    throw new CliError(`expected an idle notebook and a busy worker; measured: ${JSON.stringify(use)} millicores`);
  }
}

async function reclaimed(scene: Scene, before: string): Promise<void> {
  const { options, stage, alice, folder } = scene;
  const seconds = options.windowSeconds + LATE_SECONDS_MAX;
  const began = performance.now();
  await stage.until(
    `the policy is attached: ${THRESHOLD_MILLI} millicores for ${options.windowSeconds} s; the notebook is reclaimed, the waiting one starts`,
    [endedBy('notebook', 'idle-timeout', 'TERMINATED'), isState('worker', 'RUNNING'), isState('waiting', 'RUNNING')],
    seconds,
  );
  stage.note('startedAfterSeconds', Number(((performance.now() - began) / 1000).toFixed(1)));
  const events = await stage.history('notebook');
  const told = events.filter(({ cause }) => cause === 'idle-warning' || cause === 'idle-timeout');
  stage.note(
    'told',
    told.map(({ at, cause, message }) => ({ at, cause, message })),
  );
  if (told[0]?.cause !== 'idle-warning') throw new CliError('expected: a warning before the end; seen: none');
  options.say(`  warned: ${told[0].message}`);

  const mounts = [{ folder, target: '/data', readOnly: true }];
  const fresh: Wanted = { label: 'fresh', kind: 'batch', command: ['sh', '-c', SLEEPS], mounts, cpuMilli: 1000 };
  const { id } = await submit(stage, alice, fresh);
  await stage.until('a fresh session mounts the folder', [isState('fresh', 'RUNNING'), isState('worker', 'RUNNING')]);
  const after = await sha256In(alice, id);
  const downloaded = createHash('sha256')
    .update(await alice.folders.readFile({ folder, path: FILE }))
    .digest('hex');
  stage.note('sha256', { before, after, downloaded });
  if (after !== before || downloaded !== before) {
    throw new CliError(`the file changed: ${before} before, ${after} in the fresh session, ${downloaded} downloaded`);
  }
  options.say(`  sha256 in the fresh session, and downloaded: ${after}`);
}

const policiesOf = ({ windowSeconds }: IdleDemoOptions) => {
  const utilization = { cpuMilli: THRESHOLD_MILLI, windowSeconds };
  const policy = { utilization, graceSeconds: 0, warningSeconds: Math.min(10, Math.ceil(windowSeconds / 6)) };
  return { interactive: policy, batch: policy };
};

async function mustHaveNoPolicy({ admin, group }: DemoOptions): Promise<void> {
  const { idle } = (await admin.groups.get(group)).policy;
  if (Object.keys(idle).length === 0) return;
  const off = Object.keys(idle).map((kind) => `idle.${kind}=off`);
  throw usageError(`group ${group} reclaims idle sessions already`, `berth group set ${group} ${off.join(' ')}`);
}

/** Of the file as a session sees it; the file may still be on its way. */
async function sha256In(client: Client, session: string): Promise<string> {
  return until('the file has its sum', async () => {
    const text = await outputOf(client, session, [
      'sh',
      '-c',
      `test $(stat -c %s /data/${FILE}) = 1048576 && sha256sum /data/${FILE}`,
    ]);
    return /^[0-9a-f]{64}\b/.exec(text)?.[0];
  });
}

async function purge(client: Client, folder: string): Promise<void> {
  const ignored = (error: unknown): undefined => {
    if (!(error instanceof NotFoundError)) throw error;
  };
  await client.folders.delete(folder).catch(ignored);
  await until('the folder is purged', async () => {
    const found = await client.folders.get(folder).catch(ignored);
    return found === undefined ? true : undefined;
  });
}
