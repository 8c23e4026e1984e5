import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createStore } from '../../src/store/create-store.js';
import { startTestPostgres, type TestPostgres } from '../support/postgres.js';
import { eventually } from '../support/process.js';
import { type Ledger, openLedger, placeAll, startSession, stopOf, submitAndAdmit, unsound } from './ledger.js';

let server: TestPostgres;
let ledger: Ledger;
beforeAll(async () => {
  server = await startTestPostgres();
  ledger = await openLedger({ url: server.url });
});
afterAll(async () => {
  await ledger.store.close();
  await server.stop();
});

const connect = async () => {
  const client = new pg.Client({ connectionString: server.url });
  await client.connect();
  return client;
};

describe('events', () => {
  test('of a transaction that commits late are never skipped', async () => {
    const { store, admin } = ledger;
    const sessionId = await submitAndAdmit(ledger);
    const late = await connect();
    await late.query('BEGIN');
    await late.query(
      `INSERT INTO session_events (session_id, kind, cause, actor, attempt, message) VALUES ($1, 'note', 'late', 'test', 0, 'late')`,
      [sessionId],
    );
    await store.sessions.requestStop(stopOf(sessionId)); // commits first, with a later transaction and a later number
    const before = await store.events.ofSession(sessionId, null, 100);
    expect(before.map((event) => event.to)).toEqual(['PENDING']);
    await late.query('COMMIT');
    await late.end();
    const rest = await store.events.ofSession(sessionId, before.at(-1)?.id ?? null, 100);
    expect(rest.map((event) => event.to ?? event.message)).toEqual(['late', 'CANCELLED']);
    const all = await store.events.all(before.at(-1)?.id ?? null, 100, admin);
    expect(all.map((event) => event.id)).toEqual(rest.map((event) => event.id));
    expect(await store.events.ofSession(sessionId, rest.at(-1)?.id ?? null, 100)).toEqual([]);
    expect((await store.events.ofSession(sessionId, 'nonsense', 1)).length).toBe(1);
  });

  test('are told to listeners after the commit, in a transaction of their own', async () => {
    const told: string[] = [];
    const listener = await ledger.store.events.listen({ session: (id) => told.push(id), reconnect: () => undefined });
    const sessionId = await submitAndAdmit(ledger);
    await eventually('the listener is told', () => told.includes(sessionId));
    await listener.close();
  });

  test('are audited and listed, newest first', async () => {
    const { store, admin } = ledger;
    const entry = { actor: 'admin', onBehalfOf: null, action: 'node.cordon', object: 'n1', data: {}, requestId: 'r' };
    for (const requestId of ['r1', 'r2', 'r3']) await store.events.audit({ ...entry, requestId });
    const first = await store.events.listAudit({ limit: 2 }, admin);
    expect(first.items.map((one) => one.requestId)).toEqual(['r3', 'r2']);
    const next = await store.events.listAudit({ limit: 2, cursor: first.nextCursor ?? '' }, admin);
    expect(next).toMatchObject({ items: [{ requestId: 'r1' }], nextCursor: null });
  });
});

describe('Postgres', () => {
  test('restarted in mid-use: statements fail, then the pool is well again, and listeners come back', async () => {
    const { store } = ledger;
    const running = await startSession(ledger);
    const told: string[] = [];
    let reconnects = 0;
    const listener = await store.events.listen({ session: (id) => told.push(id), reconnect: () => (reconnects += 1) });
    const pass = await store.planning.openPass('default', 1000);
    await server.restart();
    await expect(pass?.nextPage()).rejects.toThrow();
    await pass?.close();
    await eventually('the pool answers', () =>
      store.ping().then(
        () => true,
        () => false,
      ),
    );
    await eventually('the listener is back', () => reconnects > 0);
    await store.sessions.requestStop(stopOf(running.sessionId));
    await eventually('it is told again', () => told.includes(running.sessionId));
    expect(await store.sessions.finish(running.sessionId, 1, true)).toMatchObject({ result: 'stopped' });
    await placeAll(store);
    expect(await unsound(store)).toEqual({});
    await listener.close();
  });

  test('is migrated once by two that come together', async () => {
    const connectionString = await server.createDatabase();
    const stores = [createStore({ connectionString }), createStore({ connectionString })];
    await Promise.all(stores.map((store) => store.migrate()));
    await stores[0]?.migrate();
    expect(await stores[1]?.control.groups()).toEqual([]);
    await Promise.all(stores.map((store) => store.close()));
  });

  test('lets one alone do what only one may do', async () => {
    const { control } = ledger.store;
    const nested = await control.alone('sweep', () => control.alone('sweep', () => Promise.resolve('second')));
    expect(nested).toBeNull();
    expect(await control.alone('sweep', () => Promise.resolve('first'))).toBe('first');
  });
});
