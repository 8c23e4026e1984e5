import { randomUUID } from 'node:crypto';
import { type Client, NotFoundError } from '../../sdk/index.js';
import { CliError, usageError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { gatewayUrlOf } from './gateway-url.js';
import { ModelsClient } from './models-client.js';
import { gib } from './models-figures.js';
import { ModelsStage, POOL } from './models-stage.js';
import { eightSteps } from './models-steps.js';
import type { People } from './people.js';
import { type Play, perform } from './play.js';
import type { Stage } from './stage.js';
import { until } from './watch-use.js';

const PROJECT = 'demo-models';
const PERSON = 'demo-modeller';
const USABLE_GIB = 95.1;
const GIB = 2 ** 30;
/** The weights of one that is about to sleep are charged in full until they are measured. */
const MEMBER_MEMORY_BYTES = 64 * GIB;
const WAY_UP =
  'berth down, then BERTH_ENGINE_LOOK_SECONDS=1 berth up --simulated-gpus 1 --gpu-memory 95.1Gi --memory 128Gi';

export interface ModelsDemoOptions extends DemoOptions {
  /** A neighbour has to be idle for so long before it is put to sleep for another. */
  readonly idleSeconds: number;
  /** The Berth of this machine's state directory when unset. */
  readonly gatewayUrl: string | undefined;
}

/** The eight steps of model claims, on one simulated GPU and engines that are simulated. */
export const demoModels = (options: ModelsDemoOptions): Promise<void> => perform(options, playOf(options));

const playOf = (options: ModelsDemoOptions): Play => ({
  title: `Model claims: four models of 30 + 10 GiB on one simulated GPU of ${USABLE_GIB} GiB; engines are simulated.`,
  persons: [{ name: PERSON, projects: [PROJECT] }],
  check: ({ gpuCapacity }) => {
    if (gpuCapacity !== 1) throw usageError(`the group has ${gpuCapacity} GPUs; the demonstration needs one`, WAY_UP);
  },
  act: (stage, people) => act({ options, stage, people, gatewayUrl: gatewayUrlOf(options.gatewayUrl) }),
});

interface Scene {
  readonly options: ModelsDemoOptions;
  readonly stage: Stage;
  readonly people: People;
  readonly gatewayUrl: string;
}

async function act({ options, stage, people, gatewayUrl }: Scene): Promise<void> {
  const { admin, idleSeconds, say } = options;
  const client = people.clients[PERSON];
  if (client === undefined) throw new Error('somebody is missing');
  const key = await admin.keys.create({ name: `demo-models-${randomUUID()}`, user: PERSON, expiresInDays: 1 });
  const gateway = new ModelsClient(gatewayUrl, key.secret);
  const models = new ModelsStage({ options, client, gateway });
  const folder = await folderOf(client);
  try {
    const { user } = await admin.me();
    await admin.projects.putMember({ domain: people.domain, project: PROJECT, user }); // members are sessions of the pool's maker
    await makePool(options);
    await eightSteps({ stage: models, folder, idleSeconds, note: (name, value) => stage.note(name, value) });
    say('   the models and the pool end');
  } finally {
    stage.note('steps', models.seen);
    stage.note('answers', models.answers);
    await gateway.stopAll();
    await removePool(options, client);
    await client.folders.delete(folder);
    await admin.keys.revoke(key.id);
  }
}

/** Engines that are simulated load nothing, and a claim names something. */
async function folderOf(client: Client): Promise<string> {
  const folder = await client.folders.create({ name: `demo-models-${randomUUID().slice(0, 8)}`, project: PROJECT });
  await client.folders.putFile({ folder: folder.id, path: 'config.json' }, Buffer.from('{}\n'));
  return folder.id;
}

async function makePool({ admin, image, group, idleSeconds }: ModelsDemoOptions): Promise<void> {
  await admin.pools.create({
    name: POOL,
    project: PROJECT,
    group,
    members: 1,
    member: { image, gpus: 1, cpuMilli: 1000, memoryBytes: MEMBER_MEMORY_BYTES },
    policy: { sleepToMakeRoomAfterSeconds: idleSeconds, noWakeReserveWhileAsleep: false },
  });
  await until('the member of the pool is ready, and its GPU is measured', async () => {
    const { members } = await admin.pools.get(POOL);
    const [gpu] = await admin.pools.gpus(POOL);
    if (members[0]?.state !== 'READY' || gpu === undefined || gpu.usableBytes === null) return undefined;
    const usable = gib(gpu.usableBytes);
    if (Math.abs(usable - USABLE_GIB) <= 0.001) return true;
    throw new CliError(`the GPU has ${usable.toFixed(3)} GiB; the demonstration needs ${USABLE_GIB}. ${WAY_UP}`);
  });
}

/** Safe at any point: what is not there is gone already. */
async function removePool({ admin }: ModelsDemoOptions, client: Client): Promise<void> {
  const ignored = (error: unknown): undefined => {
    if (!(error instanceof NotFoundError)) throw error;
  };
  for (const { modelName } of await client.models.list({ pool: POOL }).toArray()) {
    await client.models.remove(modelName).catch(ignored);
  }
  await until('the models have ended', async () =>
    (await client.models.list({ pool: POOL }).toArray()).length === 0 ? true : undefined,
  );
  await admin.pools.remove(POOL).catch(ignored);
}
