import {
  type ApplyDeployment,
  applyDeploymentSchema,
  createSessionSchema,
  type Deployment,
  type KernelId,
  type SessionId,
} from '../../src/contract/index.js';
import type { DeploymentSnapshot, DeploymentStore, DeploymentTurn } from '../../src/store/deployment-store.js';
import { admit, GIB, hashOf, type Ledger, nextId, openLedger, placeAll } from './ledger.js';

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
      slots: { cpuMilli: 100, memoryBytes: GIB },
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

export async function openDeployment(wanted: Wish = wish()): Promise<DeploymentLedger> {
  const ledger = await openLedger();
  const { id } = sound<Deployment>(await applied(ledger, wanted));
  return { ...ledger, deployments: ledger.store.deployments, id };
}

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

/** Two replicas of revision 1 that serve. */
export async function openServing(wanted: Wish = wish()) {
  const ledger = await openDeployment(wanted);
  await turn(ledger, converging());
  const replicas = await startReplicas(ledger);
  for (const replica of replicas) await tellHealth(ledger, replica, true);
  await turn(ledger, ({ rollout }) => ({
    rollout: null,
    verdict: rollout === null ? null : { kind: 'done', because: 'all serve' },
    weights: [{ revision: 1, percent: 100 }],
  }));
  return { ...ledger, replicas };
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
