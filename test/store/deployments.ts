import {
  type ApplyDeployment,
  applyDeploymentSchema,
  createSessionSchema,
  type Deployment,
  type KernelId,
  type SessionId,
} from '../../src/contract/index.js';
import type { DeploymentSnapshot, DeploymentStore, DeploymentTurn } from '../../src/store/deployment-store.js';
import { admit, exitOf, GIB, hashOf, type Ledger, nextId, openLedger, placeAll } from './ledger.js';

export const EVERYTHING = { projects: null } as const;
export const FIRST_PAGE = { limit: 50 } as const;

export interface DeploymentLedger extends Ledger {
  readonly deployments: DeploymentStore;
  /** Of the deployment `chat`. */
  readonly id: string;
}

export const wish = (change: object = {}): ApplyDeployment & { readonly project: string } => ({
  ...applyDeploymentSchema.parse({
    replicas: 2,
    template: {
      image: 'engine:1',
      port: 8000,
      environment: { HF_TOKEN: 'secret' },
      slots: { cpuMilli: 10, memoryBytes: GIB / 64 },
      health: { path: '/health' },
    },
    ...change,
  }),
  project: 'default/default',
});

/** A wish whose template differs by its image alone. */
export const imaged = (image: string, change: object = {}) => ({
  ...wish(change),
  template: { ...wish().template, image },
});

type Wish = ReturnType<typeof wish>;
type ApplyBy = Partial<Parameters<DeploymentStore['apply']>[2]>;

export const applied = (
  { admin, store }: Ledger,
  { name = 'chat', ...wanted }: Wish & { readonly name?: string } = wish(),
  by: ApplyBy = {},
) =>
  store.deployments.apply(name, wanted, {
    deploymentId: nextId('dep'),
    userId: admin.userId,
    actor: 'admin',
    seal: (id, revision) => Buffer.from(`sealed for ${id}/${revision}`),
    templateHash: hashOf(JSON.stringify(wanted.template)),
    dryRun: false,
    ...by,
  });

export const sound = <Answer extends object>(answer: Answer | { readonly problem: string }): Answer => {
  if ('problem' in answer) throw new Error(`refused: ${JSON.stringify(answer)}`);
  return answer;
};

/** One more deployment in a ledger that is open. */
export async function deploymentIn(ledger: Ledger, name: string, wanted: Wish = wish()): Promise<DeploymentLedger> {
  const { id } = sound<Deployment>(await applied(ledger, { ...wanted, name }));
  return { ...ledger, deployments: ledger.store.deployments, id };
}
export const openDeployment = async (wanted: Wish = wish()): Promise<DeploymentLedger> =>
  deploymentIn(await openLedger(), 'chat', wanted);

/** Keeps all as it is. */
export const keeping = (snapshot: DeploymentSnapshot, change: Partial<DeploymentTurn> = {}): DeploymentTurn => ({
  wanted: snapshot.wanted,
  decision: null,
  fired: null,
  clearWake: false,
  rollout: snapshot.rollout,
  verdict: null,
  rolloutMessage: '',
  weights: [],
  failures: snapshot.failures,
  create: [],
  drain: [],
  stop: [],
  events: [],
  retryMs: null,
  ...change,
});

type Decide = (snapshot: DeploymentSnapshot) => Partial<DeploymentTurn>;

/** One turn with a decision of these parts; what it saw. */
export async function turn(
  { deployments, id }: DeploymentLedger,
  decide: Decide = () => ({}),
): Promise<DeploymentSnapshot & { readonly outcome: string }> {
  const seen: DeploymentSnapshot[] = [];
  const { outcome } = await deployments.turn(
    id,
    (snapshot) => {
      seen.push(snapshot);
      return keeping(snapshot, decide(snapshot));
    },
    (sessionId) => Buffer.from(`key of ${sessionId}`),
  );
  const last = seen.at(-1);
  if (last === undefined) throw new Error(`no turn: ${outcome}`);
  return { ...last, outcome };
}

/** Live made equal to wanted, of one revision: no rules but these. */
export const converging =
  (revision = 1): Decide =>
  ({ replicas, wanted }) => {
    const live = replicas.filter(({ route }) => route !== 'ENDED' && route !== 'DRAINING');
    const missing = wanted - live.length;
    return {
      create: missing > 0 ? [{ revision, count: missing }] : [],
      drain: live.slice(0, Math.max(0, -missing)).map(({ id }) => ({ id, why: 'surplus' as const })),
    };
  };

export interface Started {
  readonly sessionId: SessionId;
  readonly kernelId: KernelId;
}

/** Submits what the deployment lacks and takes it to RUNNING, its port known and its check not passed yet. */
export async function startReplicas(ledger: DeploymentLedger): Promise<readonly Started[]> {
  const { store, deployments, id } = ledger;
  const { submit, owner } = await deployments.work(id);
  if (submit.length > 0 && owner === null) throw new Error('nobody to submit them');
  const started: Started[] = [];
  for (const { sessionId, name, template } of submit) {
    const spec = createSessionSchema.parse({
      name,
      kind: 'inference',
      image: template.image,
      kernels: [{ role: 'main', slots: template.slots }],
      ports: [{ name: 'http', containerPort: template.port ?? 80 }],
      healthCheck: { path: '/health', port: template.port ?? 80 },
    });
    if (owner === null) continue;
    const submittedAt = new Date().toISOString();
    await store.idempotency.putSubmission({ sessionId, principal: owner, spec, sealedSecrets: null, submittedAt });
    await admit(ledger, sessionId);
    await placeAll(store);
    const begun = await store.sessions.begin(sessionId, 1);
    if (begun.outcome !== 'go') throw new Error(`it was not begun: ${begun.outcome}`);
    const kernelId = begun.placement.nodes[0]?.kernels[0]?.kernelId as KernelId;
    const hostPort = 20_000 + started.length;
    const ports = [{ name: 'http', containerPort: 8000, hostPort }];
    await store.nodes.report('n1', [{ kind: 'ports', kernelId, attempt: 1, ports }]);
    await store.sessions.markRunning(sessionId, 1);
    started.push({ sessionId, kernelId });
  }
  return started;
}

export const tellHealth = ({ store }: Ledger, { kernelId }: Started, healthy: boolean) =>
  store.nodes.report('n1', [
    { kind: 'health', kernelId, attempt: 1, healthy, message: healthy ? '' : 'connection refused' },
  ]);

export type Serving = DeploymentLedger & { readonly replicas: readonly Started[] };

/** All that are wanted serve, of revision 1. */
export async function serving(ledger: DeploymentLedger): Promise<Serving> {
  await turn(ledger, converging());
  const replicas = await startReplicas(ledger);
  for (const replica of replicas) await tellHealth(ledger, replica, true);
  await turn(ledger, done);
  return { ...ledger, replicas };
}
export const servingIn = async (ledger: Ledger, name: string, wanted: Wish = wish()): Promise<Serving> =>
  serving(await deploymentIn(ledger, name, wanted));

/** What is rolled out is good, and gets all requests. */
export const done: Decide = ({ rollout }) => ({
  rollout: null,
  verdict: rollout === null ? null : { kind: 'done', because: 'all serve' },
  weights: [{ revision: rollout?.target ?? 1, percent: 100 }],
});

const finishing = {
  attempt: 1,
  actor: 'session',
  message: 'it exited with 1',
  graceMs: null,
  force: false,
} as const;

/** Its container exits by itself; its session is on its way to its end, or there. */
export async function exit({ store }: Ledger, { sessionId, kernelId }: Started, isOver = true): Promise<void> {
  await store.nodes.report('n1', [exitOf(kernelId, { exitCode: 1 })]);
  await store.sessions.markEnding({ ...finishing, sessionId, cause: 'user-failure' });
  if (isOver) await store.sessions.finish(sessionId, 1, true);
}

/** Stops what the deployment wants to be stopped, as its workflow does, to the end. */
export async function stopAll({ store, deployments, id }: DeploymentLedger): Promise<number> {
  const { stop } = await deployments.work(id);
  for (const { sessionId, graceMs, message } of stop) {
    const asked = { sessionId, cause: 'user-stop', actor: 'deployment chat', message, graceMs, force: false } as const;
    const stopped = await store.sessions.requestStop(asked);
    if (stopped?.state === 'TERMINATING') await store.sessions.finish(sessionId, 1, true);
  }
  return stop.length;
}

export const viewOf = async ({ deployments, id }: DeploymentLedger): Promise<Deployment> => {
  const view = await deployments.deployment(id, EVERYTHING);
  if (view === null) throw new Error('it is not there');
  return view;
};

export const eventsOf = async ({ deployments, id }: DeploymentLedger) =>
  (await deployments.events(id, { limit: 500 })).items.map(
    ({ kind, message, count }) => `${kind} ×${count}: ${message}`,
  );
