import { connect } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../models/support.js';
import {
  bearer,
  deploymentOf,
  deploymentOn,
  type Replica,
  type ReplicaAnswer,
  type ReplicaUpgrade,
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

const start = async (answer?: ReplicaAnswer, upgrade?: ReplicaUpgrade): Promise<Replica> => {
  const replica = await startReplica(answer, upgrade);
  replicas.push(replica);
  return replica;
};
const settled = () => new Promise((resolve) => setTimeout(resolve, 20));
const put = async (route: ReturnType<typeof deploymentOf>) => {
  world.put(route);
  await settled();
};
const ask = (path = 'echo', init: RequestInit = {}) => fetch(`${endpoints.url}/deployments/${path}`, init);

describe('a request for an endpoint', () => {
  it('goes to a replica with its path, query, method and body, and comes back as it was answered', async () => {
    const replica = await start((request, response) => {
      response.writeHead(201, { 'x-of-replica': 'yes', 'set-cookie': 'a=b' });
      request.pipe(response);
    });
    await put(deploymentOn('echo', replica.port));
    const answer = await ask('echo/a/b?c=d', { method: 'PUT', body: 'x'.repeat(100_000) });
    expect([answer.status, answer.headers.get('x-of-replica'), answer.headers.get('set-cookie')]).toEqual([
      201,
      'yes',
      null,
    ]);
    expect(await answer.text()).toHaveLength(100_000);
    expect(replica.seen[0]?.url).toBe('/a/b?c=d');
  });

  it.each([
    ['echo', '/'],
    ['echo?x=1', '/?x=1'],
    ['echo/', '/'],
  ])('for %s asks the replica %s', async (path, asked) => {
    const replica = await start();
    await put(deploymentOn('echo', replica.port));
    await (await ask(path)).text();
    expect(replica.seen[0]?.url).toBe(asked);
  });

  it('passes on no key, cookie or header of another hop, and says whence it came', async () => {
    const replica = await start();
    const { secret, token } = tokenOf();
    const targets = [targetOn(replica.port, { sealedApiKey: Buffer.from('key') })];
    await put(deploymentOf('echo', { access: 'token', tokens: [token], targets }));
    const headers = {
      ...{ authorization: `Bearer ${secret}`, cookie: 'berth-app=x', te: 'trailers', 'berth-x': 'y', 'x-own': 'z' },
      ...{ 'x-forwarded-for': 'forged', 'proxy-authorization': 'secret' },
    };
    await (await ask('echo/', { headers })).text();
    const seen = replica.seen[0]?.headers ?? {};
    expect(JSON.stringify(seen)).not.toContain(secret);
    expect(seen).toMatchObject({
      authorization: `Bearer key of ses_${replica.port}`,
      'x-own': 'z',
      'x-forwarded-for': '127.0.0.1',
      'x-forwarded-prefix': '/deployments/echo',
    });
    for (const name of ['cookie', 'te', 'berth-x', 'proxy-authorization']) expect(seen).not.toHaveProperty(name);
  });

  it('is streamed both ways while both sides are open', async () => {
    const replica = await start((request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      request.on('data', (part: Buffer) => response.write(part));
      request.on('end', () => response.end());
    });
    await put(deploymentOn('echo', replica.port));
    let push: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (push = controller) });
    push?.enqueue(Buffer.from('one')); // Node's fetch sends its head with the first part
    const answer = await ask('echo/', { method: 'POST', body, duplex: 'half' });
    const reader = answer.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('one');
    push?.enqueue(Buffer.from('two'));
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('two');
    push?.close();
    expect((await reader?.read())?.done).toBe(true);
  });

  it('holds the replica back while its client does not read', async () => {
    let written = 0;
    const replica = await start((_request, response) => {
      const part = Buffer.alloc(1 << 16);
      const more = () => {
        do written += part.length;
        while (response.write(part) && written < 1 << 28);
      };
      response.on('drain', more);
      more();
    });
    await put(deploymentOn('echo', replica.port));
    const socket = connect(endpoints.port, '127.0.0.1').pause();
    socket.write('GET /deployments/echo/ HTTP/1.1\r\nhost: x\r\n\r\n');
    await new Promise((resolve) => setTimeout(resolve, 300));
    socket.destroy();
    expect(written).toBeGreaterThan(0);
    expect(written).toBeLessThan(32 << 20);
  });

  it('ends at the replica when its client leaves', async () => {
    let isClosed = false;
    const replica = await start((_request, response) => {
      response.write('x');
      response.on('close', () => (isClosed = true));
    });
    await put(deploymentOn('echo', replica.port));
    const leave = new AbortController();
    await ask('echo/', { signal: leave.signal });
    leave.abort();
    await until(() => isClosed);
    await until(() => endpoints.lines.length === 1);
    expect(endpoints.lines[0]).toMatchObject({ status: 499, deployment: 'echo' });
  });

  it('leaves one line without its query, and its metrics', async () => {
    const replica = await start();
    await put(deploymentOn('echo', replica.port));
    await (await ask('echo/path?secret=1')).text();
    await until(() => endpoints.lines.length === 1);
    expect(endpoints.lines[0]).toMatchObject({ deployment: 'echo', path: '/path', status: 200, revision: 1 });
    expect(JSON.stringify(endpoints.lines)).not.toContain('secret');
    expect(await endpoints.metrics()).toContain('berth_deployment_requests_total{deployment="echo",code="200"');
  });
});

describe('a change of protocol', () => {
  const handshake = (path: string, more = '') =>
    `GET /deployments/${path} HTTP/1.1\r\nhost: x\r\nconnection: Upgrade\r\nupgrade: websocket\r\n${more}\r\n`;
  const answerOf = (text: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const socket = connect(endpoints.port, '127.0.0.1', () => void socket.write(text));
      let got = '';
      socket.on('data', (part: Buffer) => {
        got += part.toString();
        if (got.endsWith('ping')) socket.end();
      });
      socket.on('close', () => resolve(got)).on('error', reject);
    });
  const echo: ReplicaUpgrade = (request, socket) => {
    socket.write(`HTTP/1.1 101 Yes\r\nconnection: Upgrade\r\nupgrade: websocket\r\nx-path: ${request.url}\r\n\r\n`);
    socket.pipe(socket);
  };

  it('joins both sides, and what was sent right after the head is not lost', async () => {
    const replica = await start(undefined, echo);
    await put(deploymentOn('ws', replica.port));
    const got = await answerOf(`${handshake('ws/chat')}ping`);
    expect(got).toMatch(/^HTTP\/1\.1 101 /);
    expect(got).toContain('x-path: /chat');
    expect(got).toMatch(/ping$/);
    await until(() => world.sum.requests === 1);
  });

  it('goes to another replica where one takes no connection', async () => {
    const [dead, replica] = [await start(), await start(undefined, echo)];
    await dead.kill();
    await put(deploymentOn('ws', dead.port, replica.port));
    for (let count = 0; count < 4; count += 1) expect(await answerOf(`${handshake('ws/')}ping`)).toMatch(/ 101 /);
  });

  it.each([
    ['that the replica refuses is told its answer', 'ws/', /^HTTP\/1\.1 200 [\s\S]*hello$/],
    ['without a token is refused', 'closed/', /^HTTP\/1\.1 401 [\s\S]*unauthenticated/],
    ['that nothing serves is told when to come again', 'empty/', /^HTTP\/1\.1 503 [\s\S]*retry-after/],
  ])('%s', async (_title, path, said) => {
    const replica = await start();
    await put(deploymentOn('ws', replica.port));
    await put(deploymentOf('closed', { access: 'token', targets: [targetOn(replica.port)] }));
    await put(deploymentOf('empty', { state: 'UNAVAILABLE' }));
    expect(await answerOf(handshake(path))).toMatch(said);
  });
});

describe('who may use an endpoint', () => {
  it.each([
    ['its token', 200],
    ['a key of a member', 200],
    ['a key of another project', 404],
    ['a key that only reads', 403],
    ['the token of another deployment', 404],
    ['an expired token', 401],
    ['a forged token', 401],
    ['nothing', 401],
  ])('with %s: %i', async (who, status) => {
    const replica = await start();
    const [own, other, expired] = [tokenOf(), tokenOf(), tokenOf({ expiresMs: Date.now() - 1 })];
    const targets = [targetOn(replica.port)];
    await put(deploymentOf('echo', { access: 'token', tokens: [own.token, expired.token], targets }));
    await put(deploymentOf('other', { access: 'token', tokens: [other.token], targets }));
    const secrets: Record<string, string | undefined> = {
      'its token': own.secret,
      'a key of a member': world.ledger.addKey(),
      'a key of another project': world.ledger.addKey({ projects: ['default/else'] }),
      'a key that only reads': world.ledger.addKey({ scope: 'read' }),
      'the token of another deployment': other.secret,
      'an expired token': expired.secret,
      'a forged token': `${own.secret}x`,
    };
    const secret = secrets[who];
    const answer = await ask('echo/', secret === undefined ? {} : bearer(secret));
    expect(answer.status).toBe(status);
    await answer.text();
    expect(replica.seen).toHaveLength(status === 200 ? 1 : 0);
  });

  it('says the same of a deployment that is not there and of one that is not the key’s', async () => {
    await put(deploymentOf('echo', { access: 'token' }));
    const key = bearer(world.ledger.addKey({ projects: [] }));
    const [hidden, missing] = await Promise.all([ask('echo/', key), ask('none/', key)]);
    const text = async (answer: Response) => ({ ...((await answer.json()) as object), instance: '' });
    expect(await text(hidden)).toEqual(await text(missing));
  });

  it('is refused within 2 s when a token is taken back, also where the notification is lost', async () => {
    const replica = await start();
    const { secret, token } = tokenOf();
    const route = deploymentOf('echo', { access: 'token', tokens: [token], targets: [targetOn(replica.port)] });
    await put(route);
    expect((await ask('echo/', bearer(secret))).status).toBe(200);
    world.put({ ...route, tokens: [] }, false);
    await new Promise((resolve) => setTimeout(resolve, 1_900));
    expect((await ask('echo/', bearer(secret))).status).toBe(401);
  });
});
