import type { ApplyDeploymentInput, Deployment } from '../../contract/index.js';
import { CliError } from '../cli-error.js';
import { type LoadFigures, noneFailed, type ServeClient } from './serve-client.js';
import { DEPLOYMENT, type ServeStage } from './serve-stage.js';

const CLIENTS = 4;
/** Above two in flight for each of three replicas. */
const BURST = 12;
/** Two replicas that fail after 2 s each, and some. */
const BACK_SECONDS = 14;
const PLACED_SECONDS_MAX = 2;
const AWAY_MILLISECONDS_MAX = 1000;

export interface ServeScene {
  readonly stage: ServeStage;
  readonly folder: string;
  readonly image: string;
  /** Kills a replica's container at the engine; resolves once it is dead. */
  readonly kill: (sessionId: string) => Promise<void>;
}
type Wish = Omit<ApplyDeploymentInput, 'project' | 'group'>;
type Engine = Partial<Pick<Wish['template'], 'entrypoint' | 'command' | 'environment'>>;
type More = Partial<Omit<Wish, 'template'>> & { readonly deadlineSeconds?: number; readonly engine?: Engine };

function wishOf({ image, folder }: ServeScene, { deadlineSeconds = 30, engine = {}, ...rest }: More = {}): Wish {
  return {
    replicas: 2,
    rolloutTimeoutSeconds: 60,
    strategy: { kind: 'rolling', surge: 1 },
    ...rest,
    template: {
      image,
      preset: 'vllm',
      model: { folder },
      slots: { cpuMilli: 300, memoryBytes: 192 * 2 ** 20, gpuCount: 1 },
      health: { intervalSeconds: 0.5, timeoutSeconds: 2, failures: 3, initialDelaySeconds: deadlineSeconds },
      drainSeconds: 5,
      gracePeriodSeconds: 2,
      ...engine,
    },
  };
}

/** Instead of the preset's own command: an engine that loads for so long. */
const loadsFor = (seconds: number): Engine => ({
  entrypoint: ['vllm', 'serve'],
  command: ['/model', '--served-model-name', DEPLOYMENT, '--simulated-start-seconds', String(seconds)],
});
const SECOND_GOOD: Engine = { environment: { MODEL_VERSION: '2' } };
const isOff = (route: string): boolean => route === 'DRAINING' || route === 'ENDED';
const servesOf = (count: number, revision?: number): { says: string; holds: (seen: Deployment) => boolean } => ({
  says: `READY with ${count} that serve${revision === undefined ? '' : ` of revision ${revision}`}, no rollout`,
  holds: ({ state, replicasServing, replicasLive, currentRevision, rollout }) =>
    state === 'READY' &&
    replicasServing === count &&
    replicasLive === count &&
    rollout === null &&
    (revision === undefined || currentRevision === revision),
});

/** From a folder with a model to a service that heals itself. */
export async function serveSteps(scene: ServeScene): Promise<void> {
  const client = await loadsFirst(scene);
  try {
    await badOneNeverTakesOver(scene, client);
    await goodOnesRollOut(scene, client);
    await burstAndIdle(scene, client);
    await killedIsReplaced(scene, client);
  } finally {
    await client.stopAll();
  }
}

async function loadsFirst(scene: ServeScene): Promise<ServeClient> {
  const { stage } = scene;
  const began = performance.now();
  await stage.apply(wishOf(scene, { engine: loadsFor(3), replicas: 1 }));
  const client = await stage.endpoint();
  await stage.until('2. deployed: the replica counts as live while it loads', {
    says: 'live 1, serving 0, the replica WARMING',
    holds: ({ replicasLive, replicasServing, replicas }) =>
      replicasLive === 1 && replicasServing === 0 && replicas.some(({ route }) => route === 'WARMING'),
  });
  await stage.asks(client, 503);
  await stage.until('   loaded: it serves', servesOf(1, 1));
  stage.figure('from apply to the first replica that serves', (performance.now() - began) / 1000, { unit: 's' });
  await stage.asks(client, 200);
  return client;
}

async function badOneNeverTakesOver(scene: ServeScene, client: ServeClient): Promise<void> {
  const { stage } = scene;
  const load = client.load(CLIENTS);
  const never = ({ replicasServing }: Deployment): boolean => replicasServing < 1;
  const bad = { engine: loadsFor(600), replicas: 1, rolloutTimeoutSeconds: BACK_SECONDS, deadlineSeconds: 2 };
  await stage.apply(wishOf(scene, bad));
  const { replicas } = await stage.until('3. a revision that is never healthy is begun beside the one that serves', {
    says: 'a replica of revision 2',
    holds: (seen) => seen.replicas.some(({ revision }) => revision === 2),
    never,
  });
  const first = replicas.find(({ revision }) => revision === 2)?.sessionId;
  await stage.until('   its deadline of 2 s passes: another one replaces it', {
    says: 'the first replica of revision 2 off, another one of it live',
    holds: (seen) =>
      seen.replicas.every(({ sessionId, route }) => sessionId !== first || isOff(route)) &&
      seen.replicas.some(({ revision, sessionId, route }) => revision === 2 && sessionId !== first && !isOff(route)),
    never,
  });
  const { retryAt } = await stage.until('   that one is never healthy either: the next is held back', {
    says: 'two failures in a row, and a moment for the next',
    holds: (seen) => seen.failuresInARow >= 2 && seen.retryAt !== null,
    never,
  });
  const heldBack = (Date.parse(retryAt ?? '') - Date.now()) / 1000;
  stage.figure('the next replica is held back for', heldBack, { unit: 's' });
  await stage.until(`   no progress within ${BACK_SECONDS} s: it goes back by itself`, { ...servesOf(1, 1), never });
  const [failed] = (await stage.bob.deployments.revisions(DEPLOYMENT).toArray()).filter(
    ({ state }) => state === 'failed',
  );
  if (failed?.revision !== 2) throw new CliError('expected: revision 2 failed; seen: it did not');
  stage.say(`  revision 2 failed: ${failed.message ?? ''}`);
  noneFailed(await load.stop(), (text) => stage.say(text));
}

async function goodOnesRollOut(scene: ServeScene, client: ServeClient): Promise<void> {
  const { stage } = scene;
  const say = (text: string): void => stage.say(text);
  const rolling = client.load(CLIENTS);
  await stage.apply(wishOf(scene));
  await stage.until('4. a good revision under load, rolling', servesOf(2, 3));
  noneFailed(await rolling.stop(), say);
  const blueGreen = client.load(CLIENTS);
  const strategy = { kind: 'blue-green', promoteAfterSeconds: 1 } as const;
  await stage.apply(wishOf(scene, { engine: SECOND_GOOD, strategy }));
  await stage.until('   another one under load, blue-green, promoted after 1 s', servesOf(2, 4));
  noneFailed(await blueGreen.stop(), say);
}

async function burstAndIdle(scene: ServeScene, client: ServeClient): Promise<void> {
  const { stage } = scene;
  const burst = client.burst(BURST);
  const began = performance.now();
  const rule = { name: 'busy', metric: { kind: 'requests-in-flight' }, upAt: 2, step: 1, coolDownSeconds: 5 } as const;
  const autoscale = { minimum: 0, maximum: 3, idleAfterSeconds: 3, rules: [rule] };
  await stage.apply(wishOf(scene, { engine: SECOND_GOOD, autoscale }));
  await stage.until(`5. ${BURST} requests in flight: one more replica by the rule`, {
    says: 'wanted 3, serving 3',
    holds: ({ replicasWanted, replicasServing }) => replicasWanted === 3 && replicasServing === 3,
  });
  stage.figure('from the burst to the third that serves', (performance.now() - began) / 1000, { unit: 's' });
  const [decision] = (await stage.bob.deployments.decisions(DEPLOYMENT).toArray()).filter(({ by }) => by === 'busy');
  if (decision === undefined) throw new CliError('expected: a decision by the rule busy; seen: none');
  stage.say(`  decision: ${decision.because}`);
  await burst.stop();
  await stage.until('   idle for 3 s: down to nothing', {
    says: 'IDLE, no replica live',
    holds: ({ state, replicasLive }) => state === 'IDLE' && replicasLive === 0,
  });
  const asked = performance.now();
  await stage.asks(client, 503);
  await stage.until('   that request wakes it', {
    says: 'one that serves',
    holds: ({ replicasServing }) => replicasServing >= 1,
  });
  stage.figure('from the request at zero to one that serves', (performance.now() - asked) / 1000, { unit: 's' });
}

async function killedIsReplaced(scene: ServeScene, client: ServeClient): Promise<void> {
  const { stage } = scene;
  await stage.apply(wishOf(scene, { engine: SECOND_GOOD }));
  await stage.bob.deployments.scale(DEPLOYMENT, 2);
  const { replicas } = await stage.until('6. two serve, without rules', servesOf(2));
  const known = new Set(replicas.map(({ sessionId }) => sessionId));
  const [victim] = replicas.filter(({ route }) => route === 'ACTIVE');
  if (victim === undefined) throw new CliError('expected: a replica that serves; seen: none');
  const load = client.load(CLIENTS);
  const killedAt = performance.now();
  const killedTime = Date.now();
  await scene.kill(victim.sessionId);
  const isGone = (seen: Deployment): boolean =>
    seen.replicas.every(({ sessionId, route }) => sessionId !== victim.sessionId || route !== 'ACTIVE');
  await stage.until('   one is killed at the engine: off the route', { says: 'not ACTIVE', holds: isGone });
  stage.figure('off the route, as the API shows it', performance.now() - killedAt, { unit: 'ms' });
  await stage.until('   replaced', servesOf(2));
  stage.figure('until two serve again', (performance.now() - killedAt) / 1000, { unit: 's' });
  trafficAway(stage, await load.stop(), killedAt);
  const { replicas: now } = await stage.bob.deployments.get(DEPLOYMENT);
  const fresh = now.find(({ sessionId }) => !known.has(sessionId));
  const { placedAt } = await stage.bob.sessions.get(fresh?.sessionId ?? '');
  const placedSeconds = (Date.parse(placedAt ?? '') - killedTime) / 1000;
  if (!Number.isFinite(placedSeconds)) throw new CliError('expected: a replacement that was placed; seen: none');
  stage.figure('replacement placed', placedSeconds, { unit: 's', max: PLACED_SECONDS_MAX });
}

/** By the clients: what was in flight at the dead one is lost, and nothing that began later than this. */
function trafficAway(stage: ServeStage, { sent, failed }: LoadFigures, killedAt: number): void {
  stage.say(
    `  a load of ${sent} requests: ${failed.length} failed${failed[0] === undefined ? '' : `, ${failed[0].why}`}`,
  );
  const last = Math.max(0, ...failed.map(({ beganMs }) => beganMs - killedAt));
  stage.figure('traffic away: the last request that failed began after', last, {
    unit: 'ms',
    max: AWAY_MILLISECONDS_MAX,
  });
}
