import pg from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { SessionId } from '../../src/contract/index.js';
import { newKernelId } from '../../src/platform/ids.js';
import { connectTemporal } from '../../src/temporal/connect.js';
import { createTemporalDoor } from '../../src/temporal/create-temporal-door.js';
import type { TemporalDoor } from '../../src/temporal/door.js';
import { historyOf, runWorker } from '../support/control-plane.js';
import { eventually } from '../support/process.js';
import { sealing } from '../support/sealing.js';
import { type SimulatedNode, startSimulatedNode } from '../support/simulated-node.js';
import { startTestTemporal, type TestTemporal } from '../support/temporal.js';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

/** The API, the control worker and Temporal, all real, with a node that runs nothing. */
let temporal: TestTemporal;
let door: TemporalDoor;
let api: TestApi;
let node: SimulatedNode;
let stopWorker: () => Promise<void>;
let bob: string;
const logged: string[] = [];
const log = pino({ level: 'trace' }, { write: (line) => logged.push(line) });
let temporalClient: ReturnType<typeof connectTemporal>;

beforeAll(async () => {
  temporal = await startTestTemporal();
  door = createTemporalDoor(temporal);
  temporalClient = connectTemporal(temporal);
  api = await startTestApi({ door: () => door, log });
  const dependencies = {
    store: api.store,
    door,
    newKernelId,
    ...sealing,
    log,
    count: () => undefined,
  };
  stopWorker = await runWorker({ dependencies, ...temporal });
  await readyNode(api);
  node = await startSimulatedNode({ store: api.store, door, temporal }, 'node-1');
  bob = await api.user('bob');
});
afterAll(async () => {
  await node.stop();
  await stopWorker();
  await api.close();
  await door.close();
  await temporalClient.connection.close();
  await temporal.stop();
});

const stateOf = async (id: string) => (await api.call(bob, 'GET', `/v1/sessions/${id}`)).json().state as string;
const shownOf = async (id: string) => {
  const handle = temporalClient.client.workflow.getHandle(`session/${id}`);
  const [{ searchAttributes }, details] = await Promise.all([
    handle.describe(),
    handle.query('__temporal_workflow_metadata'),
  ]);
  return { searchAttributes, details: JSON.stringify(details) };
};
async function submit(more: object = {}): Promise<SessionId> {
  const made = await api.call(bob, 'POST', '/v1/sessions', session({ name: 'train', ...more }));
  expect(made.statusCode).toBe(201);
  return made.json<{ id: SessionId }>().id;
}

test("Temporal's UI tells of a session who, where and why: waiting, running and ended", async () => {
  await api.store.nodes.setCordon('node-1', true, 'test');
  const id = await submit();
  const owner = { BerthUser: ['bob'], BerthProject: ['default-work'], BerthGroup: ['default'] };
  const waiting = await shownOf(id);
  expect(waiting.searchAttributes).toMatchObject({ ...owner, BerthStatus: ['PENDING'] });
  expect(waiting.details).toMatch(new RegExp(`train.* of bob in default-work.*berth why ${id}.*group/default`));
  await eventually('the head of the queue is shown', async () => {
    const group = temporalClient.client.workflow.getHandle('group/default');
    return JSON.stringify(await group.query('__temporal_workflow_metadata')).includes('train');
  });

  await api.store.nodes.setCordon('node-1', false, 'test');
  await door.kickGroup('default');
  const isShownRunning = async () =>
    (await shownOf(id)).searchAttributes['BerthStatus']?.[0] === 'RUNNING' && (await stateOf(id)) === 'RUNNING';
  await eventually('it runs', isShownRunning, 60);
  const running = await shownOf(id);
  expect(running.searchAttributes).toMatchObject({ ...owner, BerthStatus: ['RUNNING'], BerthNode: ['node-1'] });
  expect(running.details).toContain('Running on node-1');

  expect((await api.call(bob, 'POST', `/v1/sessions/${id}/stop`)).statusCode).toBeLessThan(300);
  await eventually('it ended', async () => (await stateOf(id)) === 'TERMINATED', 60);
  await eventually('its workflow ended', async () => (await door.sessionWorkflowState(id)) === 'closed');
  const ended = await shownOf(id);
  expect(ended.searchAttributes).toMatchObject({ ...owner, BerthStatus: ['TERMINATED'] });
  expect(ended.details).toMatch(new RegExp(`TERMINATED: user-stop.*berth history ${id}`));
  const upserts = historyOf(temporal, `session/${id}`).match(/EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES/g);
  expect(upserts).toHaveLength(3);
});

test('a secret of a request stands in no history, no table, no log line and no answer', async () => {
  const marker = 'hunter2-marker';
  const registryCredentials = { username: 'bob', password: `${marker}-password` };
  const id = await submit({ name: 'secretive', environment: { PASSWORD: marker }, registryCredentials });
  await eventually('it runs', async () => (await stateOf(id)) === 'RUNNING', 60);
  const answers = await Promise.all(
    [`/v1/sessions/${id}`, `/v1/sessions/${id}/why`, '/v1/sessions', '/v1/groups/default/snapshot'].map(
      async (url) => (await api.call(api.adminKey, 'GET', url)).body,
    ),
  );
  await api.call(bob, 'POST', `/v1/sessions/${id}/stop`);
  await eventually('its workflow ended', async () => (await door.sessionWorkflowState(id)) === 'closed', 60);

  const histories = [`session/${id}`, 'group/default'].map((workflow) => historyOf(temporal, workflow));
  expect(histories[0]).toContain(Buffer.from(`"${id}"`).toString('base64').slice(0, 20)); // payloads are base64
  const decoded = histories.map((text) =>
    text.replaceAll(/"data": ?"([^"]*)"/g, (_all, data: string) => Buffer.from(data, 'base64').toString()),
  );
  const tables = await wholeDatabase();
  expect(tables).toContain('secretive');
  for (const [where, text] of Object.entries({ histories, decoded, tables, logged, answers }))
    expect(JSON.stringify(text), where).not.toContain(marker);
  const key = await api.call(bob, 'POST', '/v1/keys', { name: 'robot' });
  expect(await wholeDatabase()).not.toContain(key.json<{ secret: string }>().secret);
});

/** Every row of every table as text; bytes as the text that they may be. */
async function wholeDatabase(): Promise<string> {
  const db = new pg.Client({ connectionString: api.databaseUrl });
  await db.connect();
  const { rows: tables } = await db.query(`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`);
  let text = '';
  for (const { tablename } of tables as { tablename: string }[]) {
    const { rows } = await db.query({ text: `SELECT * FROM "${tablename}"` });
    text += JSON.stringify(rows, (_key, value: unknown) => asText(value));
  }
  await db.end();
  return text;
}

function asText(value: unknown): unknown {
  const bytes = value as { type?: string; data?: number[] } | null;
  return bytes?.type === 'Buffer' && bytes.data !== undefined ? Buffer.from(bytes.data).toString('latin1') : value;
}
