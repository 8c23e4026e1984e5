import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hello, until } from '../models/support.js';
import {
  bearer,
  deploymentOf,
  deploymentOn,
  type Replica,
  type ReplicaAnswer,
  SimulatedDeployments,
  startEndpoints,
  startReplica,
  type TestEndpoints,
  targetOn,
  tokenOf,
} from './support.js';

let world: SimulatedDeployments;
let endpoints: TestEndpoints;
let replicas: Replica[];
beforeEach(async () => {
  world = new SimulatedDeployments();
  replicas = [];
  endpoints = await startEndpoints(world);
});
afterEach(async () => {
  await endpoints.close();
  await Promise.all(replicas.map((replica) => replica.kill()));
});

const start = async (answer?: ReplicaAnswer, port = 0): Promise<Replica> => {
  const replica = await startReplica(answer, undefined, port);
  replicas.push(replica);
  return replica;
};
const put = async (route: ReturnType<typeof deploymentOf>) => {
  world.put(route);
  await new Promise((resolve) => setTimeout(resolve, 20));
};
const ask = (path = 'echo/', init: RequestInit = {}) => fetch(`${endpoints.url}/deployments/${path}`, init);
const many = async (count: number): Promise<void> => {
  for (let at = 0; at < count; at += 1) expect(await (await ask()).text()).toBe('hello');
};
const never: ReplicaAnswer = (request) => void request.resume();

describe('requests', () => {
  it('go to the replica with the least under way, and equals take turns', async () => {
    const [busy, idle] = [await start(never), await start()];
    await put(deploymentOn('echo', busy.port));
    const leave = new AbortController();
    void ask('echo/', { signal: leave.signal }).catch(() => undefined);
    await until(() => busy.seen.length === 1);
    await put(deploymentOn('echo', busy.port, idle.port));
    await many(10);
    expect([busy.seen.length, idle.seen.length]).toEqual([1, 10]);
    leave.abort();
    const third = await start();
    await put(deploymentOn('echo', idle.port, third.port));
    await many(10);
    expect([idle.seen.length, third.seen.length]).toEqual([15, 5]);
  });

  it('go to revisions by weight, over few requests too', async () => {
    const [old, fresh] = [await start(), await start()];
    const weights = [
      { revision: 1, percent: 90 },
      { revision: 2, percent: 10 },
    ];
    const targets = [targetOn(old.port), targetOn(fresh.port, { revision: 2 })];
    await put(deploymentOf('echo', { weights, targets }));
    await many(20);
    expect([old.seen.length, fresh.seen.length]).toEqual([18, 2]);
  });

  it('go to no revision without a weight, unless no other takes connections', async () => {
    const [old, fresh] = [await start(), await start()];
    const targets = [targetOn(old.port), targetOn(fresh.port, { revision: 2 })];
    await put(deploymentOf('echo', { weights: [{ revision: 1, percent: 100 }], targets }));
    await many(10);
    expect(fresh.seen).toHaveLength(0);
    await old.kill();
    await many(5);
    expect(fresh.seen).toHaveLength(5);
  });

  it('go to a degraded replica last', async () => {
    const [degraded, healthy] = [await start(), await start()];
    await put(
      deploymentOf('echo', { targets: [targetOn(degraded.port, { isDegraded: true }), targetOn(healthy.port)] }),
    );
    await many(6);
    expect(degraded.seen).toHaveLength(0);
    await healthy.kill();
    await many(3);
    expect(degraded.seen).toHaveLength(3);
  });
});

describe('a replica that was killed', () => {
  it('gets nothing more, at once and without a word of the ledger; no request fails that was not sent', async () => {
    const [killed, other] = [await start(), await start()];
    await put(deploymentOn('echo', killed.port, other.port));
    await many(4);
    await killed.kill();
    const answers = await Promise.all(
      Array.from({ length: 40 }, () => ask('echo/', { method: 'POST', body: 'a body' }).then(({ status }) => status)),
    );
    expect(new Set(answers)).toEqual(new Set([200]));
    expect(other.seen.length).toBe(42);
  });

  it('fails what it had, once: a request that was sent is never repeated', async () => {
    const kill: ReplicaAnswer = (request) => void request.on('data', () => request.socket.destroy());
    const [killed, other] = [await start(kill), await start(kill)];
    await put(deploymentOn('echo', killed.port, other.port));
    const answer = await ask('echo/', { method: 'POST', body: 'charge the card' });
    expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([502, 'upstream_failed']);
    expect(killed.seen.length + other.seen.length).toBe(1);
    await until(() => world.sum.failures === 1);
  });

  it('is told as refused, and asked again within some seconds of its return on its port', async () => {
    const replica = await start();
    await put(deploymentOn('echo', replica.port));
    await many(1);
    await replica.kill();
    expect((await ask()).status).toBe(503);
    await until(() => world.told.at(-1)?.[0]?.refused[0] === `ses_${replica.port}`);
    await start(undefined, replica.port);
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    expect((await ask()).status).toBe(200);
    await until(() => world.told.at(-1)?.[0]?.refused.length === 0);
  });

  it('off the route finishes what it has, and is told of at once when it is empty', async () => {
    let finish: (() => void) | undefined;
    const replica = await start((_request, response) => void (finish = () => response.end('hello')));
    const other = await start();
    await put(deploymentOn('echo', replica.port));
    const answer = ask();
    await until(() => finish !== undefined);
    await put(deploymentOn('echo', other.port));
    await many(2);
    expect(replica.seen).toHaveLength(1);
    const sessionId = `ses_${replica.port}`;
    await until(() => world.told.flat().some(({ inFlight }) => inFlight.some((one) => one.sessionId === sessionId)));
    finish?.();
    expect(await (await answer).text()).toBe('hello');
    await until(() => world.told.at(-1)?.some(({ inFlight }) => inFlight.length > 0) !== true, 500);
  });
});

describe('a deployment that nothing serves', () => {
  it.each(['IDLE', 'DEPLOYING', 'UNAVAILABLE'] as const)(
    'and is %s: 503 with a reason and when to come again',
    async (state) => {
      await put(deploymentOf('echo', { state, message: 'why it does not', startSeconds: 8, sinceMs: Date.now() }));
      const answer = await ask();
      const problem = (await answer.json()) as { detail: string; retryAfterSeconds: number };
      expect([answer.status, answer.headers.get('content-type')]).toEqual([503, 'application/problem+json']);
      expect(Number(answer.headers.get('retry-after'))).toBe(problem.retryAfterSeconds);
      expect(problem.detail).toContain('why it does not');
    },
  );

  it('and is at zero wakes: told at once and once for many, and what the ledger answers is kicked', async () => {
    await put(deploymentOf('echo', { state: 'IDLE' }));
    world.toKick = ['dep_echo'];
    await Promise.all(Array.from({ length: 50 }, () => ask().then((answer) => answer.text())));
    await until(() => world.kicks.includes('dep_echo') && world.sum.queued === 50);
  });

  it('loses no count while the database is away, and serves on what is known', async () => {
    const replica = await start();
    await put(deploymentOn('echo', replica.port));
    await until(() => world.told.length > 0);
    world.isAway = true;
    await many(5);
    await new Promise((resolve) => setTimeout(resolve, 150));
    world.isAway = false;
    await until(() => world.sum.requests === 5);
  });
});

describe('a deployment with a model’s name', () => {
  it('is served at the OpenAI routes to its token and to keys of members, is listed, and is counted as its traffic', async () => {
    const replica = await start((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"ok":true}');
    });
    const [own, other] = [tokenOf(), tokenOf()];
    await put(deploymentOf('echo', { modelName: 'org/m', tokens: [own.token], targets: [targetOn(replica.port)] }));
    await put(deploymentOf('else', { tokens: [other.token] }));
    const askModel = (secret: string, path = '/v1/chat/completions', method = 'POST') =>
      fetch(endpoints.url + path, {
        ...{ method, ...(method === 'POST' ? { body: JSON.stringify(hello('org/m')) } : {}) },
        headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      });
    const key = world.ledger.addKey();
    const secrets = [own.secret, key, other.secret, world.ledger.addKey({ scope: 'read' }), 'bdt_forged'];
    const answers = await Promise.all(secrets.map((secret) => askModel(secret).then(({ status }) => status)));
    expect(answers).toEqual([200, 200, 404, 403, 401]);
    const list = (await (await askModel(key, '/v1/models', 'GET')).json()) as { data: object[] };
    expect(list.data).toMatchObject([{ id: 'org/m', state: 'active' }]);
    expect(replica.seen.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined]);
    await until(() => world.sum.requests === 2);
  });

  it('at zero is told so in OpenAI’s words, and wakes', async () => {
    const { secret, token } = tokenOf();
    await put(deploymentOf('echo', { modelName: 'm', state: 'IDLE', tokens: [token] }));
    const answer = await fetch(`${endpoints.url}/v1/completions`, {
      ...{ method: 'POST', body: JSON.stringify({ model: 'm' }) },
      ...bearer(secret),
    });
    expect([answer.status, answer.headers.has('retry-after')]).toEqual([503, true]);
    expect(((await answer.json()) as { error: { code: string } }).error.code).toBe('model_asleep');
    await until(() => world.sum.queued === 1);
  });
});

describe('at its end', () => {
  it('the gateway refuses new requests, and those under way finish', async () => {
    let finish: (() => void) | undefined;
    const replica = await start((_request, response) => void (finish = () => response.end('hello')));
    await put(deploymentOn('echo', replica.port));
    const answer = ask();
    await until(() => finish !== undefined);
    const closing = endpoints.gateway.close();
    expect((await ask()).status).toBe(503);
    finish?.();
    expect(await (await answer).text()).toBe('hello');
    await closing;
  });
});
