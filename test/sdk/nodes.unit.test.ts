import { afterEach, expect, test } from 'vitest';
import { Client } from '../../src/sdk/index.js';
import { json, type ScriptedServer, scriptedServer } from './fake-api.js';

let server: ScriptedServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

type Nodes = Client['nodes'];
const rows: readonly (readonly [
  title: string,
  call: (nodes: Nodes) => Promise<unknown>,
  method: string,
  url: string,
  body: object | null,
])[] = [
  [
    'drain',
    (nodes) => nodes.drain('n1', { deadlineSeconds: 60 }),
    'POST',
    '/v1/nodes/n1/drain',
    { deadlineSeconds: 60 },
  ],
  ['dryRunDrain', (nodes) => nodes.dryRunDrain('n1'), 'POST', '/v1/nodes/n1/drain?dryRun=true', {}],
  ['drainPlan', (nodes) => nodes.drainPlan('n1'), 'GET', '/v1/nodes/n1/drain', null],
  ['markUnhealthy', (nodes) => nodes.markUnhealthy('n1', 'hot'), 'POST', '/v1/nodes/n1/unhealthy', { reason: 'hot' }],
  ['markHealthy', (nodes) => nodes.markHealthy('n1'), 'POST', '/v1/nodes/n1/healthy', null],
  ['move', (nodes) => nodes.move('n1', { toGroup: 'b' }), 'POST', '/v1/nodes/n1/move', { toGroup: 'b' }],
  ['cancelMove', (nodes) => nodes.cancelMove('n1'), 'DELETE', '/v1/nodes/n1/move', null],
  ['warm', (nodes) => nodes.warm('n1', ['a:1', 'b:2']), 'POST', '/v1/nodes/n1/warm', { images: ['a:1', 'b:2'] }],
];

test.each(rows)('nodes.%s is one call of its route', async (_title, call, method, url, body) => {
  server = await scriptedServer(json(200, { name: 'n1', futureField: 1 }));
  const client = new Client({ baseUrl: server.url, token: 'brt_secret' });
  expect(await call(client.nodes)).toEqual({ name: 'n1', futureField: 1 });
  const [seen] = server.seen;
  expect([seen?.method, seen?.url]).toEqual([method, url]);
  expect(seen?.body === '' || seen === undefined ? null : JSON.parse(seen.body)).toEqual(body);
  if (method === 'POST') expect(seen?.headers['idempotency-key']).toMatch(/^.{8,}$/);
});
