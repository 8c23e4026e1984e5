import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { ensureSimulatedEngineImage, SIMULATED_ENGINE_IMAGE } from '../../../infra/images/simulated-engine.mjs';
import { engine } from '../../../infra/setup/docker.mjs';
import type { ModelClaim, PoolGpuView } from '../../../src/contract/index.js';
import type { BodyOf } from '../../../src/sdk/operations.js';
import { eventually } from '../../support/process.js';
import type { Berth } from './berth.js';
import { engineOf } from './engine-of.js';

export const GIB = 2 ** 30;
export const POOL = 'chaos-models';
/** F 1 GiB and K 8 GiB: two are awake on a GPU of 24 GiB, a third has no room. */
const FOOTPRINT_GIB = 1;
const KV_FLOOR_GIB = 8;

type NewPool = Partial<Omit<BodyOf<'createPool'>, 'member'>>;

/** Ready, and its GPUs measured. Sleepers give their room away unless it is said otherwise. */
export async function makePool({ client }: Berth, more: NewPool = {}): Promise<void> {
  const members = more.members ?? 1;
  await ensureSimulatedEngineImage();
  await client.pools.create({
    name: POOL,
    policy: { noWakeReserveWhileAsleep: true, sleepToMakeRoomAfterSeconds: 2 },
    ...more,
    member: { image: SIMULATED_ENGINE_IMAGE, gpus: 1, cpuMilli: 500, memoryBytes: 3 * GIB },
  });
  await measured(client, members);
}

export const measured = (client: Berth['client'], members: number): Promise<void> =>
  eventually(
    `${members} members of the pool are ready, their GPUs measured`,
    async () => {
      const gpus = await client.pools.gpus(POOL);
      return gpus.filter(({ usableBytes, holes }) => usableBytes !== null && holes.length === 0).length === members;
    },
    60,
  );

export interface WantedModel extends Partial<Omit<BodyOf<'createModelClaim'>, 'args'>> {
  /** `--simulated-…` in camel case is not known here: names as the engine has them. */
  readonly knobs?: Readonly<Record<string, string>>;
}

const KNOBS = { footprint: '1Gi', residue: '64Mi', 'kv-bytes-per-request': '256Mi', 'start-seconds': '0.5' };

export async function claim(berth: Berth, modelName: string, wanted: WantedModel = {}): Promise<ModelClaim> {
  const { knobs, ...more } = wanted;
  const args = Object.entries({ ...KNOBS, ...knobs }).flatMap(([name, value]) => [`--simulated-${name}`, value]);
  return berth.client.models.claim({
    modelName,
    pool: POOL,
    artifactUrl: `folder://${await folderOf(berth)}`,
    perGpu: { maximumFootprint: `${FOOTPRINT_GIB}Gi`, kvFloor: `${KV_FLOOR_GIB}Gi` },
    ...more,
    args,
  });
}

const folders = new WeakMap<Berth, Promise<string>>();

/** Simulated engines load nothing, and a claim names something. */
async function folderOf(berth: Berth): Promise<string> {
  const make = async () => {
    const { id } = await berth.client.folders.create({ name: `chaos-weights-${randomUUID()}` });
    await berth.client.folders.putFile({ folder: id, path: 'config.json' }, Buffer.from('{}\n'));
    return id;
  };
  const known = folders.get(berth) ?? make();
  folders.set(berth, known);
  return known;
}

/** It serves, or is whatever else is said, with a reason where one is said. */
export async function is(berth: Berth, model: string, phase: ModelClaim['phase'], code?: string): Promise<ModelClaim> {
  let found: ModelClaim | undefined;
  const probe = async () => {
    found = await berth.client.models.get(model);
    return found.phase === phase && (code === undefined || found.reason?.code === code);
  };
  await eventually(`${model} is ${phase} ${code ?? ''}`, probe, 60).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; it is ${found?.phase}: ${JSON.stringify(found?.reason)}`);
  });
  return found as ModelClaim;
}

export interface Answer {
  readonly status: number;
  readonly retryAfter: string | null;
  readonly code: string | undefined;
  readonly text: string;
}

const post = (berth: Berth, model: string, more: object = {}): Promise<Response> =>
  fetch(new URL('/v1/chat/completions', berth.gatewayUrl), {
    method: 'POST',
    headers: { authorization: `Bearer ${berth.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hello' }], max_tokens: 1, ...more }),
    signal: AbortSignal.timeout(60_000),
  });

/** One request at the gateway. Whatever is not 200 says why, as OpenAI's error object. */
export async function ask(berth: Berth, model: string): Promise<Answer> {
  const response = await post(berth, model);
  const text = await response.text();
  const body = JSON.parse(text) as {
    readonly error?: { readonly message: string; readonly reason?: { readonly code: string } };
  };
  if (response.status !== 200) expect(body.error?.message, text).toMatch(/\w/);
  return {
    status: response.status,
    retryAfter: response.headers.get('retry-after'),
    code: body.error?.reason?.code,
    text,
  };
}

/** Asks until it is served, as a client does that follows 503. */
export const served = (berth: Berth, model: string, seconds = 60): Promise<void> => {
  let last: unknown;
  const probe = async () => {
    await pause(200);
    const answer = await ask(berth, model).catch((error: unknown) => error as Error);
    last = answer;
    return !(answer instanceof Error) && answer.status === 200;
  };
  return eventually(`${model} serves a client`, probe, seconds).catch((error: unknown) => {
    throw new Error(`${(error as Error).message}; last ${last instanceof Error ? last.message : JSON.stringify(last)}`);
  });
};

/** A stream that has had its first word, and goes on for a minute or more. `over` says how it ended. */
export async function stream(
  berth: Berth,
  model: string,
): Promise<{ readonly over: Promise<string>; readonly stop: () => void }> {
  const response = await post(berth, model, { max_tokens: 4_000, stream: true });
  expect(response.status).toBe(200);
  const reader = response.body?.getReader();
  if (reader === undefined) throw new Error('no body');
  await reader.read();
  const rest = async () => {
    while (!(await reader.read()).done);
    return 'complete';
  };
  const over = rest().catch((error: unknown) => (error as Error).name);
  return { over, stop: () => void reader.cancel() };
}

export const engineContainers = async (berth: Berth, instance?: string) =>
  (await engineOf(berth).list({ 'berth.node': berth.node, 'berth.instance': instance ?? '' })).filter(
    ({ exitCode }) => exitCode === undefined,
  );

interface Audit {
  readonly [gpu: string]: unknown;
}

/** Runs a program beside the anchor of each member; what each printed. */
export async function besideAnchors(berth: Berth, ...Cmd: string[]): Promise<string[]> {
  const { members } = await berth.client.pools.get(POOL);
  const said: string[] = [];
  for (const { sessionId } of members) {
    const [anchor] = await engineOf(berth).list({ 'berth.node': berth.node, 'berth.session': sessionId });
    if (anchor === undefined) continue;
    const asked = await engine('POST', `/containers/${anchor.id}/exec`, {
      body: JSON.stringify({ Cmd, Tty: true, AttachStdout: true, AttachStderr: true }),
    });
    const { Id } = JSON.parse(asked.text) as { Id: string };
    const { text } = await engine('POST', `/exec/${Id}/start`, { body: JSON.stringify({ Detach: false, Tty: true }) });
    said.push(text);
  }
  return said;
}

/** No GPU was ever promised more than it has, as those say who took it; and the ledger's account is theirs. */
export async function sound(berth: Berth): Promise<void> {
  for (const text of await besideAnchors(berth, 'simulated-gpu', 'audit')) {
    const seen = JSON.parse(text) as Audit;
    expect(text, JSON.stringify(seen)).not.toMatch(/"excesses": ?[1-9]/);
  }
  for (const gpu of await berth.client.pools.gpus(POOL))
    expect(excessOf(gpu), JSON.stringify(gpu)).toBeLessThanOrEqual(0);
}

/** Bytes promised above what is usable; 0 where nothing is measured. */
function excessOf({ usableBytes, tenants }: PoolGpuView): number {
  return usableBytes === null ? 0 : tenants.reduce((sum, tenant) => sum + takenBytes(tenant), 0) - usableBytes;
}

/** One that sleeps, or leaves asleep, has its residue, also once it was asked for; one whose limit is not its floor yet has not begun. */
function takenBytes(tenant: PoolGpuView['tenants'][number]): number {
  const { phase, residueBytes, footprintBytes, limitBytes, kvFloorBytes } = tenant;
  const isToBegin = (phase === 'STARTING' || phase === 'WAKING') && (limitBytes ?? 0) < kvFloorBytes;
  return isToBegin ? 0 : (residueBytes ?? footprintBytes + (limitBytes ?? 0));
}

/** Its claims and its members end; nothing of it is left. */
export async function endPool(berth: Berth): Promise<void> {
  await sound(berth);
  for (const { modelName } of await berth.client.models.list({ pool: POOL }).toArray()) {
    await berth.client.models.remove(modelName);
  }
  const none = async () => (await berth.client.models.list({ pool: POOL }).toArray()).length === 0;
  await eventually('the claims have ended', none, 60);
  await berth.client.pools.remove(POOL);
  const isGone = async () => !(await berth.client.pools.list().toArray()).some(({ name }) => name === POOL);
  await eventually('the pool has ended', isGone, 60);
}
