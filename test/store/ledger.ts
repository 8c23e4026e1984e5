import { createHash } from 'node:crypto';
import {
  type CreateSessionInput,
  createSessionSchema,
  type KernelId,
  type Plan,
  type Principal,
  type RegisterNode,
  type SessionId,
  type SnapshotPending,
} from '../../src/contract/index.js';
import { createStore } from '../../src/store/create-store.js';
import type { AdmittedKernel } from '../../src/store/session-store.js';
import type { OpenPass, Store } from '../../src/store/store.js';
import { createDatabase } from '../support/postgres.js';

export const GIB = 2 ** 30;
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';

/** Ids that sort by number, of the shape that the contract wants. */
export function idOf<Id extends string = string>(kind: string, number: number): Id {
  let text = '';
  for (let rest = number, place = 0; place < 25; place += 1, rest = Math.floor(rest / 32))
    text = DIGITS[rest % 32] + text;
  return `${kind}_0${text}` as Id;
}
export const hashOf = (text: string): Buffer => createHash('sha256').update(text).digest();

let counter = 0;
export const nextId = <Id extends string = string>(kind: string): Id => idOf<Id>(kind, (counter += 1));

export interface Ledger {
  readonly store: Store;
  readonly url: string;
  readonly admin: Principal;
}

export const nodeFacts = (gpus = 4, change: Partial<RegisterNode> = {}): RegisterNode => ({
  architecture: 'amd64',
  capacity: { cpuMilli: 4000, memoryBytes: 16 * GIB },
  devices: Array.from({ length: gpus }, (_, index) => ({
    id: `gpu-${index}`,
    index,
    model: 'sim-24',
    memoryBytes: 24 * GIB,
    simulated: true,
    healthy: true,
    sharing: 'none',
    parentId: null,
  })),
  agentUrl: 'http://127.0.0.1:7001',
  address: '127.0.0.1',
  engineId: 'engine-a',
  agentVersion: '0.1.0',
  images: [],
  ...change,
});

/** A bootstrapped ledger of its own with one READY node `n1`. */
export async function openLedger({
  gpus = 4,
  url,
}: {
  readonly gpus?: number;
  readonly url?: string;
} = {}): Promise<Ledger> {
  const connectionString = url ?? (await createDatabase());
  const store = createStore({ connectionString, poolSize: 8 });
  await store.migrate();
  await store.tenancy.bootstrap({
    ids: { domain: nextId('dom'), project: nextId('prj'), user: nextId('usr'), key: nextId('key') },
    adminKeyHash: hashOf('admin-key'),
    adminKeyPrefix: 'brt_adm',
    group: 'default',
    nodes: [{ name: 'n1', tokenHash: hashOf('n1') }],
    volumes: ['main'],
  });
  await joinNode(store, 'n1', gpus);
  const admin = await store.tenancy.authenticate(hashOf('admin-key'));
  if (admin === null) throw new Error('the first key is not known');
  return { store, url: connectionString, admin };
}

export async function joinNode(
  store: Store,
  name: string,
  gpus = 4,
  change: Partial<RegisterNode> = {},
): Promise<void> {
  await store.nodes.create({ name, group: 'default', zone: null, tokenHash: hashOf(name) });
  await store.nodes.register(name, nodeFacts(gpus, change));
  await store.nodes.reconcile(name, { kernels: [], starting: true });
}

type Request = Partial<CreateSessionInput>;

/** Stored, as the API does it, and not yet admitted. */
export async function submit({ store, admin }: Ledger, request: Request = {}, principal = admin): Promise<SessionId> {
  const sessionId = nextId<SessionId>('ses');
  const spec = createSessionSchema.parse({
    image: 'python:3.12',
    kernels: [{ role: 'main', slots: { cpuMilli: 1000, memoryBytes: GIB, gpuCount: 1 } }],
    ...request,
  });
  const submittedAt = new Date().toISOString();
  await store.idempotency.putSubmission({
    sessionId,
    principal,
    spec,
    sealedSecrets: Buffer.from('sealed'),
    submittedAt,
  });
  return sessionId;
}

export const kernelsOf = (spec: Pick<CreateSessionInput, 'kernels'>): AdmittedKernel[] =>
  spec.kernels
    .flatMap(({ role = 'main', count = 1, slots }) =>
      Array.from({ length: count }, (_, index) => ({
        groupRole: role,
        role: role === 'main' ? role : `${role}${index + 1}`,
        slots: { ...slots, gpuCount: slots.gpuCount ?? 0, gpuMemoryBytes: slots.gpuMemoryBytes ?? 0 },
      })),
    )
    .map((kernel, rank) => ({ ...kernel, rank, id: nextId<KernelId>('krn') }));

export async function admit(ledger: Ledger, sessionId: SessionId): Promise<SessionId> {
  const context = await ledger.store.sessions.readAdmission(sessionId);
  if (context === null) throw new Error('no submission');
  await ledger.store.sessions.insertPending(context, kernelsOf(context.submission.spec));
  return sessionId;
}
export const submitAndAdmit = async (
  ledger: Ledger,
  request: Request = {},
  principal = ledger.admin,
): Promise<SessionId> => admit(ledger, await submit(ledger, request, principal));

export async function openPass(store: Store, group = 'default'): Promise<OpenPass> {
  const pass = await store.planning.openPass(group, 2000);
  if (pass === null) throw new Error('the group is being planned by somebody else');
  return pass;
}

export const emptyPlan = (pass: OpenPass, change: Partial<Plan> = {}): Plan => ({
  schema: 'berth.plan/1',
  group: pass.base.group.name,
  generation: pass.base.group.generation,
  now: pass.base.takenAt,
  placed: [],
  waiting: [],
  blockedBy: null,
  skipped: 0,
  reservations: [],
  stops: [],
  holds: [],
  droppedHolds: [],
  ends: [],
  drains: [],
  drained: [],
  order: null,
  nextWakeAt: null,
  ...change,
});

/** Each kernel on `node`, on its first free devices, a share on the first that nobody has whole: what a planner would say, without one. */
export function planAll(pass: OpenPass, pending: readonly SnapshotPending[], node = 'n1'): Plan {
  const devices = (pass.base.nodes.find((one) => one.name === node)?.devices ?? []).filter(
    (one) => one.heldBy === null,
  );
  const free = devices.filter((device) => device.shares.length === 0).map((device) => device.id);
  const shared = devices[0]?.id ?? '';
  return emptyPlan(pass, {
    placed: pending.map((session) => ({
      sessionId: session.id,
      version: session.version,
      explanation: `on ${node}`,
      kernels: session.kernels.map((kernel) => ({
        kernelId: kernel.id,
        node,
        deviceIds: kernel.slots.gpuMemoryBytes > 0 ? [shared] : free.splice(0, kernel.slots.gpuCount),
        slots: kernel.slots,
      })),
    })),
  });
}

/** One pass that places whoever waits. */
export async function placeAll(store: Store, node = 'n1') {
  const pass = await openPass(store);
  try {
    return await pass.commit(planAll(pass, await pass.nextPage(), node));
  } finally {
    await pass.close();
  }
}

/** Submitted, admitted, placed and begun, up to RUNNING where asked. */
export async function startSession(ledger: Ledger, request: Request = {}, upTo: 'PREPARING' | 'RUNNING' = 'RUNNING') {
  const sessionId = await submitAndAdmit(ledger, request);
  await placeAll(ledger.store);
  const begun = await ledger.store.sessions.begin(sessionId, 1);
  if (begun.outcome !== 'go') throw new Error(`it was not begun: ${begun.outcome}`);
  if (upTo === 'RUNNING') await ledger.store.sessions.markRunning(sessionId, 1);
  const kernels = begun.placement.nodes.flatMap((node) => node.kernels);
  return { sessionId, kernels, kernelId: kernels[0]?.kernelId as KernelId };
}

export const exitOf = (
  kernelId: KernelId,
  change: { exitCode?: number; oomKilled?: boolean; engineLost?: boolean } = {},
) => ({
  kind: 'exited' as const,
  kernelId,
  attempt: 1,
  exitCode: 0,
  oomKilled: false,
  engineLost: false,
  finishedAt: new Date().toISOString(),
  logTail: 'last line',
  ...change,
});

export const stopOf = (sessionId: SessionId, change: { force?: boolean } = {}) => ({
  sessionId,
  cause: 'user-stop' as const,
  actor: 'admin',
  message: 'asked',
  graceMs: null,
  force: false,
  ...change,
});

/** The invariants that are broken: none. */
export async function unsound(store: Store): Promise<Record<string, number>> {
  return Object.fromEntries(Object.entries(await store.control.audit()).filter(([, count]) => count !== 0));
}
