import { randomUUID } from 'node:crypto';
import { connectDocker } from '../../docker/connect.js';
import type { Client } from '../../sdk/index.js';
import { CliError, usageError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { isState } from './expectations.js';
import { gatewayUrlOf } from './gateway-url.js';
import { type Play, perform } from './play.js';
import { DEPLOYMENT, ignoreMissing, removeService, ServeStage } from './serve-stage.js';
import { serveSteps } from './serve-steps.js';
import type { Stage } from './stage.js';
import { outputOf, until } from './watch-use.js';

const PROJECT = 'demo-serve';
const PERSON = 'demo-bob';
const GPUS_MIN = 4;
const FILES = ['config.json', 'model.safetensors'];
const SAVES =
  'echo "{}" > /work/config.json; head -c 65536 /dev/urandom > /work/model.safetensors; trap "exit 0" TERM; while :; do sleep 0.1; done';

export interface ServeDemoOptions extends DemoOptions {
  /** The Berth of this machine's state directory when unset. */
  readonly gatewayUrl: string | undefined;
}

/** Bob's way from a notebook to a model service; the engine is simulated, everything else is real. */
export const demoServe = (options: ServeDemoOptions): Promise<void> => perform(options, playOf(options));

const playOf = (options: ServeDemoOptions): Play => ({
  title:
    'Bob serves a model: notebook, deployment, rollouts, a burst, and a replica that is killed; the engine is simulated.',
  persons: [{ name: PERSON, projects: [PROJECT] }],
  check: ({ gpuCapacity }) => {
    if (gpuCapacity < GPUS_MIN) {
      throw usageError(
        `the group has ${gpuCapacity} GPUs; the demonstration needs ${GPUS_MIN}`,
        `berth down, then berth up --simulated-gpus ${GPUS_MIN}`,
      );
    }
  },
  act: async (stage, { clients: { [PERSON]: bob } }) => {
    if (bob === undefined) throw new Error('somebody is missing');
    await act({ options, stage, bob });
  },
});

interface Scene {
  readonly options: ServeDemoOptions;
  readonly stage: Stage;
  readonly bob: Client;
}

async function act({ options, stage, bob }: Scene): Promise<void> {
  const { id: folder } = await bob.folders.create({ name: `demo-serve-${randomUUID().slice(0, 8)}`, project: PROJECT });
  const serve = new ServeStage({ options, bob, project: PROJECT, gatewayUrl: gatewayUrlOf(options.gatewayUrl) });
  try {
    await savesModel({ options, stage, bob }, folder);
    await serveSteps({ stage: serve, folder, image: options.image, kill: killAtEngine });
    options.say('   the deployment ends');
  } finally {
    stage.note('steps', serve.seen);
    stage.note('figures', serve.figures);
    stage.note(
      'events',
      await bob.deployments
        .events(DEPLOYMENT)
        .toArray()
        .catch(() => []),
    );
    await removeService(bob);
    await bob.folders.delete(folder).catch(ignoreMissing);
  }
}

/** Files that a notebook wrote stay when it ends. */
async function savesModel({ options, stage, bob }: Scene, folder: string): Promise<void> {
  const spec = {
    project: PROJECT,
    kind: 'interactive',
    command: ['sh', '-c', SAVES],
    mounts: [{ folder, target: '/work' }],
    kernels: [{ slots: { cpuMilli: 300, memoryBytes: 64 * 2 ** 20, gpuCount: 1 } }],
  } as const;
  const { id } = await stage.submit({
    label: 'notebook',
    client: bob,
    spec: { ...spec, command: [...spec.command], mounts: [...spec.mounts], kernels: [...spec.kernels] },
  });
  await stage.until("1. Bob's notebook runs, and saves a model", [isState('notebook', 'RUNNING')]);
  await until('the model is saved', async () => {
    const size = await outputOf(bob, id, ['sh', '-c', 'cat /work/model.safetensors | wc -c']);
    return Number(size) === 65_536 ? true : undefined;
  });
  await stage.end('notebook');
  await stage.until('   the notebook has ended', [isState('notebook', 'TERMINATED')]);
  const sizes = await Promise.all(
    FILES.map(async (path) => `${path} (${(await bob.folders.readFile({ folder, path })).byteLength} bytes)`),
  );
  options.say(`  its files are still in the folder: ${sizes.join(', ')}`);
}

/** As somebody at the node would: `docker kill`. The node has to be this machine. */
async function killAtEngine(sessionId: string): Promise<void> {
  const docker = connectDocker();
  const found = await docker.listContainers({ filters: { label: [`berth.session=${sessionId}`] } });
  const [container] = found;
  if (container === undefined) throw new CliError(`the container of ${sessionId} is not on this machine's engine`);
  await docker.getContainer(container.Id).kill();
}
