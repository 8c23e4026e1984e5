import { once } from 'node:events';
import { generateKeyPair, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WebSocket } from 'ws';
import type { Session } from '../../src/contract/index.js';
import { session } from '../api/support.js';
import { eventually } from '../support/process.js';
import { type Answer, askPort, hostOf, startApp, startTestGateway, type TestApp, type TestGateway } from './support.js';

let here: TestGateway;
let app: TestApp;
let bob: string;
let eve: string;
let colleague: string;
let notebook: Session;
let bobs: string;

const CHUNK = Buffer.alloc(64 * 1024, 7);
let isPouring = false;
let poured = 0;

beforeAll(async () => {
  here = await startTestGateway();
  bob = await here.api.user('bob');
  colleague = await here.api.user('carol');
  eve = await here.api.user('eve', { domain: 'elsewhere' });
  app = await startApp(
    (request, response) => {
      if (request.url === '/events') {
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
        return;
      }
      if (request.url === '/slow') return;
      if (request.url === '/half') return void response.writeHead(200, { 'content-length': '100' }).write('half');
      response.setHeader('set-cookie', ['berth-app=stolen; Path=/', 'own=1; Domain=apps.localhost; Path=/']);
      response.end(JSON.stringify({ url: request.url, headers: request.headers }));
    },
    (socket, { url }) => {
      if (url === '/pour') return pour(socket);
      socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary }));
    },
  );
  notebook = await here.runSession(bob, 'notebook', app);
  await untilKnown(notebook);
  bobs = await here.enter(bob, 'notebook');
});
afterAll(async () => {
  await app?.close();
  await here?.close();
});

/** As fast as it is taken. */
function pour(socket: WebSocket): void {
  isPouring = true;
  socket.on('close', () => (isPouring = false));
  const next = () => {
    if (!isPouring) return;
    poured += CHUNK.length;
    socket.send(CHUNK, { compress: false }, () => setImmediate(next));
  };
  next();
}

const untilKnown = (session: Session) =>
  eventually('the gateway knows it', async () => (await here.enter(bob, session.id)).startsWith('berth-app='));
const ask = (path: string, cookie = bobs, more: Parameters<TestGateway['ask']>[2] = {}): Promise<Answer> =>
  here.ask(notebook, path, { ...more, headers: { cookie, ...more.headers } });
const share = (body: object, key = bob) => here.api.call(key, 'PUT', '/v1/sessions/notebook/apps/http/sharing', body);
const seenHeaders = (answer: Answer) => (JSON.parse(answer.text) as { headers: Record<string, string> }).headers;
const opened = async (key: string, session = 'notebook', path = '/') =>
  (await here.api.call(key, 'POST', `/v1/sessions/${session}/apps/http/open`, { path })).json<{ url: string }>();
const visit = (url: string): Promise<Answer> => {
  const { host, pathname, search } = new URL(url);
  return askPort(here.port, { host, path: pathname + search });
};

describe('the way in', () => {
  test('a ticket becomes a cookie of this app alone, once, and leads where was asked', async () => {
    const { url } = await opened(bob, 'notebook', '/lab?x=1');
    const first = await visit(url);
    expect([first.status, first.headers.location]).toEqual([303, '/lab?x=1']);
    expect(first.headers['set-cookie']).toEqual([
      expect.stringMatching(/^berth-app=[^;]+; Path=\/; Max-Age=\d+; HttpOnly; SameSite=Lax$/),
    ]);
    expect((await visit(url)).status).toBe(404);
  });

  test('forged, expired and foreign tickets, and other algorithms, let nobody in', async () => {
    const claims = {
      use: 'open',
      sessionId: notebook.id,
      port: 'http',
      path: '/',
      right: 'owner',
      userId: notebook.userId,
    };
    const { privateKey } = await generateKeyPair('ES256');
    const forge = (alg: string, key: Parameters<SignJWT['sign']>[0]) =>
      new SignJWT({ jti: 'x', ...claims })
        .setProtectedHeader({ alg, kid: 'test' })
        .setIssuer('berth')
        .setAudience('app')
        .setExpirationTime('60s')
        .sign(key);
    const good = await here.signer.sign({ audience: 'app', seconds: 60, claims });
    const [, payload = ''] = good.split('.');
    const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${payload}.`;
    const hmacKey = new TextEncoder().encode(JSON.stringify(here.api.keys.verifyKeys));
    const tickets = [
      await forge('ES256', privateKey),
      await forge('HS256', hmacKey),
      none,
      await here.signer.sign({ audience: 'app', seconds: -1, claims }),
      await here.signer.sign({ audience: 'storage', seconds: 60, claims }),
      await here.signer.sign({ audience: 'app-cookie', seconds: 60, claims }),
      await here.signer.sign({ audience: 'app', seconds: 60, claims: { ...claims, port: 'other' } }),
      await here.signer.sign({ audience: 'app', seconds: 60, claims: { ...claims, use: 'port', containerPort: 1 } }),
      'rubbish',
    ];
    for (const ticket of tickets) expect((await ask(`/_berth/open?ticket=${ticket}`, '')).status).toBe(404);
    expect((await ask(`/_berth/open?ticket=${good}`, '')).status).toBe(303);
  });

  test("another user's session is 404, at the API and at the gateway, with or without a cookie of its own", async () => {
    const other = await here.runSession(eve, 'theirs', app);
    await eventually('known', async () => (await here.enter(eve, other.id)).startsWith('berth-app='));
    const eves = await here.enter(eve, 'theirs');
    for (const key of [eve, colleague]) {
      const refused = await here.api.call(key, 'POST', '/v1/sessions/' + notebook.id + '/apps/http/open', {});
      expect([refused.statusCode, refused.json().code]).toEqual([404, 'not_found']);
    }
    for (const cookie of ['', eves, 'berth-app=rubbish']) expect((await ask('/', cookie)).status).toBe(404);
    expect((await here.ask(other, '/', { headers: { cookie: bobs } })).status).toBe(404);
  });

  test('a project, a link and everybody are let in as long as the sharing stands', async () => {
    expect((await share({ sharing: 'project' }, colleague)).statusCode).toBe(403);
    expect((await share({ sharing: 'project' })).statusCode).toBe(200);
    const carols = await eventuallyEnters(colleague);
    expect((await ask('/', carols)).status).toBe(200);
    const { link } = (await share({ sharing: 'link', expiresInSeconds: 3600 })).json<{ link: string }>();
    await eventually('the member is out', async () => (await ask('/', carols)).status === 404);
    const visitors = String((await visit(link)).headers['set-cookie']?.[0]).split(';')[0];
    expect((await ask('/', visitors)).status).toBe(200);
    expect((await visit(link)).status).toBe(303);
    expect((await ask('/_berth/link?key=guess', '')).status).toBe(404);
    await share({ sharing: 'public' });
    await eventually('everybody is in', async () => (await ask('/', '')).status === 200);
    await share({ sharing: 'me' });
    await eventually('and out again', async () => (await ask('/', '')).status === 404);
    expect((await ask('/', visitors)).status).toBe(404);
    expect((await ask('/')).status).toBe(200);
  });

  test("a request from another app's page has no right of the cookie, but a visit has", async () => {
    const from = (site: string, more: object = {}) => ask('/', bobs, { headers: { 'sec-fetch-site': site, ...more } });
    expect((await from('same-origin')).status).toBe(200);
    expect((await from('same-site')).status).toBe(404);
    expect((await from('cross-site', { 'sec-fetch-mode': 'no-cors' })).status).toBe(404);
    expect((await from('cross-site', { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' })).status).toBe(200);
  });
});

const eventuallyEnters = async (key: string): Promise<string> => {
  let cookie = '';
  await eventually('it is let in', async () => {
    cookie = await here.enter(key, notebook.id).catch(() => '');
    return cookie.startsWith('berth-app=') && (await ask('/', cookie)).status === 200;
  });
  return cookie;
};

describe('what the app sees', () => {
  test("none of Berth's cookies, keys and headers; its own as they are", async () => {
    const headers = {
      cookie: `a=1; ${bobs}; b=2`,
      authorization: `Bearer ${bob}`,
      'berth-on-behalf-of': 'eve',
      'x-forwarded-for': '1.2.3.4',
      'x-own': 'kept',
    };
    const answer = await here.ask(notebook, '/path?q=1', { headers });
    const seen = seenHeaders(answer);
    expect(seen).toMatchObject({
      cookie: 'a=1; b=2',
      'x-own': 'kept',
      host: hostOf(notebook),
      'x-forwarded-proto': 'http',
    });
    expect(answer.text).not.toMatch(/berth_|berth-app|1\.2\.3\.4|on-behalf/);
    const own = await ask('/', bobs, { headers: { authorization: 'token abc' } });
    expect(seenHeaders(own)).toMatchObject({ authorization: 'token abc' });
    expect(seenHeaders(own)).not.toHaveProperty('cookie');
  });

  test('an app neither sets the cookie of the gateway nor one for its neighbours', async () => {
    expect((await ask('/')).headers['set-cookie']).toEqual(['own=1; Path=/']);
  });

  test('events come one by one, and a client that goes away is gone for the app', async () => {
    const gone = new AbortController();
    const cut = ask('/slow', bobs, { signal: gone.signal }).catch(() => 'cut');
    await eventually('it is asked', () => app.seen.some(({ url }) => url === '/slow'));
    gone.abort();
    expect(await cut).toBe('cut');
    await eventually('the app sees it', () => app.aborted.includes('/slow'));
  });
});

const message = async (socket: WebSocket): Promise<string> => String((await once(socket, 'message'))[0]);

describe('WebSockets', () => {
  test('subprotocol and compression are those of the app, and messages pass both ways', async () => {
    const socket = here.socket(notebook, '/echo', {
      protocols: ['v1.other', 'v1.kernel.websocket.jupyter.org'],
      headers: { cookie: bobs, origin: `http://${hostOf(notebook)}` },
    });
    await once(socket, 'open');
    expect([socket.protocol, socket.extensions]).toEqual([
      'v1.kernel.websocket.jupyter.org',
      expect.stringContaining('permessage-deflate'),
    ]);
    const text = 'ä'.repeat(10_000);
    socket.send(text);
    expect(await message(socket)).toBe(text);
    socket.close(4001, 'done');
    expect((await once(socket, 'close'))[0]).toBe(4001);
  });

  const refusals: [title: string, path: string, headers: () => Record<string, string>, status: number][] = [
    ['without a cookie', '/echo', () => ({}), 404],
    ["from another app's page", '/echo', () => ({ cookie: bobs, origin: 'http://evil.apps.localhost:8084' }), 403],
    ['from a page without an origin', '/echo', () => ({ cookie: bobs, origin: 'null' }), 403],
    ['by the app itself, with its own answer', '/refused', () => ({ cookie: bobs }), 403],
  ];
  test.each(refusals)('one is refused %s', async (_title, path, headers, status) => {
    const socket = here.socket(notebook, path, { headers: headers() });
    socket.on('error', () => undefined);
    const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
    expect(answer.statusCode).toBe(status);
    socket.terminate();
  });

  test('an app that pours 10 MB a second to a client that does not read waits; memory does not grow', async () => {
    const socket = here.socket(notebook, '/pour', { headers: { cookie: bobs } });
    await once(socket, 'message');
    socket.pause();
    await eventually('the app is held back', async () => {
      const before = poured;
      await new Promise((resolve) => setTimeout(resolve, 300));
      return poured === before;
    });
    const [heldBytes, before] = [poured, process.memoryUsage.rss()];
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    expect(poured).toBe(heldBytes);
    expect(process.memoryUsage.rss() - before).toBeLessThan(8 * 2 ** 20);
    expect(heldBytes).toBeLessThan(64 * 2 ** 20); // socket buffers of five connections, and nothing else
    socket.terminate();
  });

  test('one is cut when the sharing that let it in is taken back', async () => {
    await share({ sharing: 'public' });
    await eventually('everybody is in', async () => (await ask('/', '')).status === 200);
    const socket = here.socket(notebook, '/echo');
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await share({ sharing: 'me' });
    await closed;
  });
});

describe('before and after', () => {
  const page = { headers: { accept: 'text/html' } };

  test('what is not placed yet answers why: a page that looks again, or problem+json', async () => {
    const wanted = session({ name: 'later', ports: [{ name: 'http', containerPort: 80 }] });
    const made = await here.api.call(bob, 'POST', '/v1/sessions', wanted);
    const later = made.json<Session>();
    const cookie = await here.enter(bob, later.id);
    const html = await here.ask(later, '/', { headers: { cookie, ...page.headers } });
    expect([html.status, html.headers['retry-after']]).toEqual([503, '2']);
    expect(html.text).toMatch(/http-equiv="refresh".*later is not ready yet/s);
    const json = await here.ask(later, '/', { headers: { cookie, accept: 'application/json' } });
    expect(JSON.parse(json.text)).toMatchObject({ code: 'unavailable', retryAfterSeconds: 2, hint: 'berth why later' });
    expect(json.headers['content-type']).toBe('application/problem+json');
  });

  test('a port on which nothing listens yet answers so', async () => {
    const quiet = await startApp(() => undefined);
    await quiet.close();
    const silent = await here.runSession(bob, 'silent', quiet);
    const cookie = await here.enter(bob, silent.id);
    const answer = await here.ask(silent, '/', { headers: { cookie } });
    expect([answer.status, JSON.parse(answer.text).detail]).toEqual([503, expect.stringContaining('nothing listens')]);
  });

  test('a session that ends in mid-stream ends its streams: events whole, bodies cut, sockets closed; then it is 410', async () => {
    const ending = await startApp((request, response) => {
      if (request.url === '/events')
        response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: one\n\n');
      else response.writeHead(200, { 'content-length': '100' }).write('half');
    });
    const short = await here.runSession(bob, 'short', ending);
    const cookie = await here.enter(bob, short.id);
    const events = here.ask(short, '/events', { headers: { cookie } });
    const half = here.ask(short, '/half', { headers: { cookie } }).catch((error: Error) => error.message);
    const socket = here.socket(short, '/echo', { headers: { cookie } });
    await once(socket, 'open');
    await eventually('all are open', () => ending.seen.length >= 3);
    const closed = once(socket, 'close');
    await ending.close();
    expect((await events).text).toBe('data: one\n\n');
    expect(await half).toMatch(/aborted|hang up/);
    await closed;
    await here.api.call(bob, 'POST', `/v1/sessions/${short.id}/stop`, {});
    await here.api.store.control.endOrphan(short.id, 'user-stop');
    await eventually('it has ended', async () => (await here.ask(short, '/', { headers: { cookie } })).status === 410);
    expect((await here.ask(short, '/', { headers: { cookie: '' } })).status).toBe(404);
  });

  test('requests, what is in flight, and since when it is quiet are recorded in batches', async () => {
    await here.gateway.close();
    const mine = here.activity.filter(({ sessionId }) => sessionId === notebook.id);
    expect(mine).toEqual([expect.objectContaining({ inFlight: 0, quietMs: expect.any(Number) })]);
    expect(mine[0]?.requests).toBeGreaterThan(10);
  });
});
