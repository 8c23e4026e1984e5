import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually } from '../support/process.js';
import { session, startTestApi, type TestApi } from './support.js';

let api: TestApi;
let bob: string;
let eve: string;
beforeAll(async () => {
  api = await startTestApi({ purgeEveryMs: 100 });
  bob = await api.user('bob');
  eve = await api.user('eve', { domain: 'elsewhere' });
});
afterAll(() => api.close());

const create = (name: string, key = bob) => api.call(key, 'POST', '/v1/folders', { name });
const transfer = (folder: string, body: object, key = bob) =>
  api.call(key, 'POST', `/v1/folders/${folder}/transfers`, body);

async function put(folder: string, path: string, text: string): Promise<number> {
  const { url, token } = (await transfer(folder, { operation: 'write', path })).json();
  return (await fetch(url, { method: 'PUT', body: text, headers: { authorization: `Bearer ${token}` } })).status;
}

test('bytes go to the storage proxy under the token of a transfer, and come back', async () => {
  const { id, volume, project } = (await create('data')).json();
  expect([volume, project]).toEqual(['main', 'default-work']);
  expect(await put('data', 'sub dir/ä.txt', 'hello')).toBe(201);
  expect(existsSync(join(api.volumeDir, id, 'sub dir', 'ä.txt'))).toBe(true);
  const { url, token, expiresAt } = (await transfer('data', { operation: 'read', path: 'sub dir/ä.txt' })).json();
  const got = await fetch(url, { headers: { authorization: `Bearer ${token}` } });
  expect([await got.text(), new Date(expiresAt).getTime() > Date.now()]).toEqual(['hello', true]);
});

test('deleting removes the row and the bytes; a second time it is not there', async () => {
  const { id } = (await create('old')).json();
  await put('old', 'f', 'x');
  expect((await api.call(bob, 'DELETE', '/v1/folders/old')).statusCode).toBe(204);
  expect(existsSync(join(api.volumeDir, id))).toBe(false);
  expect((await api.call(bob, 'DELETE', '/v1/folders/old')).statusCode).toBe(404);
});

test('a removal that was cut shows as PURGING and is taken up again by the API', async () => {
  const { id } = (await create('cut')).json();
  await put('cut', 'f', 'x');
  await api.store.folders.remove(id); // what a DELETE leaves whose storage proxy did not answer
  const state = async () => (await api.call(bob, 'GET', `/v1/folders/${id}`)).json().state as string | undefined;
  expect(['PURGING', undefined]).toContain(await state());
  await eventually('its bytes are gone', () => !existsSync(join(api.volumeDir, id)));
  await eventually('it is gone', async () => (await state()) === undefined);
});

test('a folder that a session has mounted is not deleted, and the session is named', async () => {
  await create('held');
  const mounts = [{ folder: 'held', target: '/data' }];
  const made = await api.call(bob, 'POST', '/v1/sessions', session({ name: 'holder', mounts }));
  expect(made.statusCode).toBe(201);
  const answer = await api.call(bob, 'DELETE', '/v1/folders/held');
  expect([answer.statusCode, answer.json().detail]).toEqual([409, 'held is mounted by holder']);
});

const refused: [title: string, act: () => Promise<{ statusCode: number }>, status: number][] = [
  ["another tenant's folder", () => api.call(eve, 'GET', '/v1/folders/data'), 404],
  ["a transfer of another tenant's folder", () => transfer('data', { operation: 'read', path: 'f' }, eve), 404],
  ['a path that climbs', () => transfer('data', { operation: 'read', path: '../x' }), 400],
  ['an upload without a path', () => transfer('data', { operation: 'write' }), 400],
  ['a volume that is not there', () => api.call(bob, 'POST', '/v1/folders', { name: 'v', volume: 'moon' }), 400],
  ['a project of others', () => api.call(bob, 'POST', '/v1/folders', { name: 'p', project: 'elsewhere-work' }), 404],
  ['a name twice', () => create('data'), 409],
];
test.each(refused)('%s is refused', async (_title, act, status) => {
  expect((await act()).statusCode).toBe(status);
});
