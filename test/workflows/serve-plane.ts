import pg from 'pg';
import {
  type ApplyDeploymentInput,
  applyDeploymentSchema,
  type Deployment,
  type KernelId,
  type SessionId,
} from '../../src/contract/index.js';
import { deploymentWorkflowId } from '../../src/lifecycle/names.js';
import { EVERYTHING } from '../store/deployments.js';
import { GIB, hashOf, nextId } from '../store/ledger.js';
import type { ControlPlane } from '../support/control-plane.js';
import { eventually } from '../support/process.js';

type Wish = Partial<ApplyDeploymentInput> & { readonly image?: string };

/** One deployment on a whole control plane; node `n1` runs its replicas as rows of a table, and reports them. */
export interface ServePlane {
  readonly id: string;
  readonly name: string;
  /** As the API does it, the kick included. */
  apply(wish?: Wish): Promise<Deployment>;
  scale(replicas: number): Promise<void>;
  undo(): Promise<void>;
  end(): Promise<void>;
  kick(): Promise<void>;
  view(): Promise<Deployment>;
  /** The view once it is so. */
  until(what: string, holds: (view: Deployment) => boolean, timeoutMs?: number): Promise<Deployment>;
  /** As many as are wanted serve, of this revision alone, and nothing else is there. */
  settled(replicas: number, revision: number, timeoutMs?: number): Promise<Deployment>;
  /** Its container exits by itself. */
  kill(sessionId: string): Promise<void>;
  /** All that serve do so for two minutes already: the death of one begins no back-off. */
  matured(): Promise<void>;
  /** `kind ×count: message`, the newest first. */
  events(): Promise<readonly string[]>;
  /** What its workflow answers at its end. */
  ended(): Promise<string>;
}

const template = (image: string): ApplyDeploymentInput['template'] => ({
  image,
  port: 8000,
  slots: { cpuMilli: 10, memoryBytes: GIB / 64 },
  health: { path: '/health', initialDelaySeconds: 600 },
  environment: { TOKEN: 'secret' },
  drainSeconds: 1,
  gracePeriodSeconds: 0,
});

export async function openServePlane(plane: ControlPlane, name: string, first: Wish = {}): Promise<ServePlane> {
  const { deployments } = plane.store;
  let id = nextId('dep');
  const { seal } = plane.dependencies;
  const apply = async ({ image = 'engine:1', ...wish }: Wish = {}) => {
    const asked = applyDeploymentSchema.parse({ template: template(image), ...wish });
    const { environment } = asked.template;
    const made = await deployments.apply(
      name,
      { ...asked, project: 'default/default' },
      {
        deploymentId: id,
        userId: plane.admin.userId,
        actor: 'admin',
        seal: (deploymentId, revision) =>
          seal.seal({ environment, registryCredentials: null }, `deployment/${deploymentId}/${revision}`),
        templateHash: hashOf(JSON.stringify(asked.template)),
        dryRun: false,
      },
    );
    if ('problem' in made) throw new Error(JSON.stringify(made));
    id = made.id;
    await plane.door.kickDeployment(id);
    return made;
  };
  await apply(first);
  const kick = () => plane.door.kickDeployment(id);
  const view = async () => {
    const found = await deployments.deployment(id, EVERYTHING);
    if (found === null) throw new Error(`no deployment ${name}`);
    return found;
  };
  const until: ServePlane['until'] = async (what, holds, timeoutMs = 30_000) => {
    let seen = await view();
    await eventually(
      `${name}: ${what}`,
      async () => {
        seen = await view();
        return holds(seen);
      },
      timeoutMs,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${JSON.stringify(seen, null, 1)}`);
    });
    return seen;
  };
  return {
    id,
    name,
    apply,
    kick,
    view,
    until,
    async scale(replicas) {
      await deployments.scale(id, replicas, 'admin');
      await kick();
    },
    async undo() {
      await deployments.rolloutChange(id, { kind: 'undo', toRevision: null }, 'admin');
      await kick();
    },
    async end() {
      await deployments.end(id, 'admin');
      await kick();
    },
    settled: (replicas, revision, timeoutMs) =>
      until(
        `${replicas} of revision ${revision} serve`,
        (seen) =>
          seen.rollout === null &&
          seen.replicasServing === replicas &&
          seen.replicas.length === replicas &&
          seen.replicas.every((one) => one.revision === revision && one.route === 'ACTIVE'),
        timeoutMs,
      ),
    async kill(sessionId) {
      const [kernel] = (await plane.session(sessionId as SessionId)).kernels;
      const gone = { exitCode: 137, oomKilled: false, engineLost: false, logTail: '' } as const;
      const finishedAt = new Date().toISOString();
      await plane.node.report({ kind: 'exited', kernelId: kernel?.id as KernelId, attempt: 1, finishedAt, ...gone });
    },
    matured: () =>
      execute(
        plane.url,
        `UPDATE deployment_replicas SET serving_at = serving_at - interval '2 minutes' WHERE deployment_id = '${id}'`,
      ),
    events: async () =>
      (await deployments.events(id, { limit: 500 })).items.map(
        ({ kind, message, count }) => `${kind} ×${count}: ${message}`,
      ),
    ended: () => plane.client.workflow.getHandle(deploymentWorkflowId(id)).result(),
  };
}

async function execute(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
