import type { ApplyDeploymentInput, Deployment } from '../../contract/index.js';
import type { Client } from '../../sdk/index.js';
import { usageError } from '../cli-error.js';
import type { DemoOptions } from './demo-options.js';
import { gpusInUse, isState, waitsForCapacity } from './expectations.js';
import type { People } from './people.js';
import { type Play, perform, RUNS_UNTIL_STOPPED } from './play.js';
import { DEPLOYMENT, removeService, ServeStage } from './serve-stage.js';
import type { Stage } from './stage.js';
import { withPolicy } from './with-policy.js';

const GPUS = 8;
const RESERVED = 2;
/** Within which the group promises the service its GPUs back. */
const RETURN_SECONDS = 30;
const GRACE_SECONDS = 2;
const SERVICE_PROJECT = 'demo-service';
const TRAINING_PROJECT = 'demo-training';

/** The opening case of the article on sharing: 8 GPUs, a service with 2, a training job of 8, a notebook of 1. */
export const demoShare = (options: DemoOptions): Promise<void> =>
  perform(options, {
    title: `8 GPUs are shared: ${RESERVED} are kept for deployments, and lent while no replica wants them; back within ${RETURN_SECONDS} s.`,
    persons: [
      { name: 'demo-sam', projects: [SERVICE_PROJECT] },
      { name: 'demo-tara', projects: [TRAINING_PROJECT] },
    ],
    check: ({ gpuCapacity }) => {
      if (gpuCapacity === GPUS) return;
      throw usageError(
        `the group has ${gpuCapacity} GPUs; the case has ${GPUS}`,
        'berth down, then berth up --simulated-gpus 8',
      );
    },
    act: (stage, people) => act(options, stage, people),
  } satisfies Play);

interface Scene {
  readonly options: DemoOptions;
  readonly stage: Stage;
  readonly serve: ServeStage;
  readonly tara: Client;
}

async function act(options: DemoOptions, stage: Stage, { clients }: People): Promise<void> {
  const { 'demo-sam': sam, 'demo-tara': tara } = clients;
  if (sam === undefined || tara === undefined) throw new Error('somebody is missing');
  const serve = new ServeStage({ options, bob: sam, project: SERVICE_PROJECT, gatewayUrl: 'http://127.0.0.1' });
  const guarantees = [{ kind: 'inference', gpuCount: RESERVED, returnSeconds: RETURN_SECONDS } as const];
  await withPolicy(options, { guarantees }, async () => {
    try {
      await lentAndTakenBack({ options, stage, serve, tara });
    } finally {
      stage.note('figures', serve.figures);
      stage.note('service', serve.seen);
      await removeService(sam);
    }
  });
}

async function lentAndTakenBack({ options, stage, serve, tara }: Scene): Promise<void> {
  await stage.submit({ label: 'training', client: tara, spec: session('batch', { gpuCount: GPUS, priority: 10 }) });
  await stage.until('1. training needs all 8 at once; no replica is wanted: what is kept for them is lent', [
    isState('training', 'RUNNING'),
    gpusInUse(GPUS),
  ]);
  await stage.submit({ label: 'notebook', client: tara, spec: session('interactive', { gpuCount: 1, priority: 20 }) });
  await stage.until('2. a notebook wants one: nothing is kept for it, so it waits', [
    waitsForCapacity('notebook', { resource: 'gpuCount', more: 1 }),
  ]);

  await comesBack(serve, { step: '3. the service is deployed with 2 replicas', figure: 'first take-back' }, () =>
    serve.apply(service(options.image)),
  );
  await stage.until('   the notebook has what is left; training is back in the queue, whole', [
    isState('notebook', 'RUNNING'),
    waitsForCapacity('training', { resource: 'gpuCount', more: RESERVED + 1 }),
    gpusInUse(RESERVED + 1),
  ]);

  await stage.end('notebook');
  await serve.bob.deployments.scale(DEPLOYMENT, 0);
  await stage.until('4. demand falls: no replica is wanted, the notebook ended; training has all 8 again', [
    isState('training', 'RUNNING'),
    gpusInUse(GPUS),
  ]);
  await comesBack(serve, { step: '5. requests come: 2 replicas', figure: 'second take-back' }, () =>
    serve.bob.deployments.scale(DEPLOYMENT, RESERVED),
  );
}

/** From the wish to both replicas that hold their GPUs, by the ledger's clock, and to both that serve. */
async function comesBack(
  serve: ServeStage,
  { step, figure }: { readonly step: string; readonly figure: string },
  wish: () => Promise<Deployment>,
): Promise<void> {
  const began = performance.now();
  const beganAt = Date.now();
  await wish();
  const { replicas } = await serve.until(step, {
    says: `READY, ${RESERVED} serve`,
    holds: ({ state, replicasServing }) => state === 'READY' && replicasServing === RESERVED,
  });
  const serving = (performance.now() - began) / 1000;
  const live = replicas.filter(({ route }) => route === 'ACTIVE');
  const placed = await Promise.all(
    live.map(async ({ sessionId }) => (await serve.bob.sessions.get(sessionId)).placedAt),
  );
  const last = Math.max(...placed.map((at) => Date.parse(at ?? '')));
  serve.figure(`${figure}: lent GPUs were back after`, (last - beganAt) / 1000, { unit: 's', max: RETURN_SECONDS });
  serve.figure(`${figure}: both replicas served after`, serving, { unit: 's' });
}

const session = (kind: 'batch' | 'interactive', asks: { readonly gpuCount: number; readonly priority: number }) => ({
  project: TRAINING_PROJECT,
  kind,
  priority: asks.priority,
  command: RUNS_UNTIL_STOPPED,
  resumable: kind === 'batch',
  gracePeriodSeconds: GRACE_SECONDS,
  kernels: [{ slots: { cpuMilli: 200, memoryBytes: 16 * 2 ** 20, gpuCount: asks.gpuCount } }],
});

const SERVES = 'mkdir -p /tmp/www; echo ok > /tmp/www/index.html; exec httpd -f -p 8000 -h /tmp/www';

const service = (image: string): Omit<ApplyDeploymentInput, 'project' | 'group'> => ({
  replicas: RESERVED,
  template: {
    image,
    command: ['sh', '-c', SERVES],
    port: 8000,
    slots: { cpuMilli: 200, memoryBytes: 16 * 2 ** 20, gpuCount: 1 },
    health: { path: '/index.html', intervalSeconds: 0.5, timeoutSeconds: 2 },
    drainSeconds: 1,
    gracePeriodSeconds: 1,
  },
});
