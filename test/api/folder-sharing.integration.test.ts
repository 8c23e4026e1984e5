import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Client } from '../../src/sdk/index.js';
import { eventually } from '../support/process.js';
import { pass } from './placed.js';
import { readyNode, session, startTestApi, type TestApi } from './support.js';

/** Alice owns; bob is in her project. */
let api: TestApi;
let keys: Record<'alice' | 'bob', string>;
let baseUrl: string;
let alice: Client;
let bob: Client;
let admin: Client;
beforeAll(async () => {
  api = await startTestApi({ purgeEveryMs: 100 });
  keys = { alice: await api.user('alice'), bob: await api.user('bob') };
  baseUrl = await api.listen();
  alice = new Client({ baseUrl, token: keys.alice });
  bob = new Client({ baseUrl, token: keys.bob });
  admin = new Client({ baseUrl, token: api.adminKey });
});
afterAll(() => api.close());

const refusal = (work: Promise<unknown>): Promise<[number, string]> =>
  work.then(
    () => [200, ''],
    (error: { status: number; code: string }) => [error.status, error.code],
  );
const put = (client: Client, folder: string, path: string, text: string) =>
  client.folders.putFile({ folder, path }, text);
const read = async (client: Client, folder: string, path: string) =>
  Buffer.from(await client.folders.readFile({ folder, path })).toString();

test("a user's folder is seen by nobody else in its project, until it is shared and the invitation accepted", async () => {
  const { id } = await alice.folders.create({ name: 'private' });
  await put(alice, id, 'a.txt', 'secret');
  expect(await refusal(bob.folders.get(id))).toEqual([404, 'not_found']);
  const invitation = await alice.folders.invite('private', { user: 'bob', permissions: ['read'] });
  expect(await refusal(bob.folders.get(id))).toEqual([404, 'not_found']);
  expect((await bob.folders.invitations()).map(({ folder, permissions }) => [folder, permissions])).toEqual([
    ['private', ['read']],
  ]);
  expect((await bob.folders.accept(invitation.id)).permissions).toEqual(['read']);
  expect(await read(bob, id, 'a.txt')).toBe('secret');
  expect(await refusal(put(bob, id, 'b.txt', 'x'))).toEqual([403, 'forbidden']);
  expect(await refusal(bob.folders.invite(id, { user: 'alice' }))).toEqual([403, 'forbidden']);
  expect(await refusal(bob.folders.trash(id))).toEqual([403, 'forbidden']);
  await alice.folders.invite(id, { user: 'bob', permissions: ['read', 'write'] });
  await put(bob, id, 'b.txt', 'x');
  expect(await refusal(bob.folders.deleteFile({ folder: id, path: 'b.txt' }))).toEqual([403, 'forbidden']);
  await alice.folders.revoke(id, 'bob');
  expect(await refusal(read(bob, id, 'a.txt'))).toEqual([404, 'not_found']);
});

test("a project's folder is its members', and each permission is one of its own", async () => {
  const { id } = await alice.folders.create({ name: 'team', ownedBy: 'project', memberPermissions: ['read'] });
  await put(alice, id, 'a.txt', 'ours');
  expect(await read(bob, 'team', 'a.txt')).toBe('ours');
  expect(await refusal(put(bob, id, 'b.txt', 'x'))).toEqual([403, 'forbidden']);
  await alice.folders.patch(id, { memberPermissions: ['read', 'write', 'delete'] });
  await put(bob, id, 'b.txt', 'x');
  await bob.folders.moveFile({ folder: id, path: 'b.txt' }, 'sub/c.txt');
  await bob.folders.deleteFile({ folder: id, path: 'sub/c.txt' });
  expect(await refusal(bob.folders.delete(id))).toEqual([403, 'forbidden']);
});

test('an owner offers a folder, and it counts against whoever accepts it', async () => {
  const { id } = await alice.folders.create({ name: 'gift' });
  expect((await alice.folders.give(id, { user: 'bob' })).owner).toBe('alice');
  const [offer] = await bob.folders.invitations();
  expect(offer).toMatchObject({ folder: 'gift', ownership: true });
  expect(await bob.folders.accept(offer?.id ?? '')).toMatchObject({ owner: 'bob', mayManage: true });
  expect(await refusal(alice.folders.get(id))).toEqual([404, 'not_found']);
});

test('a folder goes to the trash, comes back, and is purged when its volume keeps it no longer', async () => {
  const { id } = await alice.folders.create({ name: 'old' });
  await put(alice, id, 'a.txt', 'x');
  expect(await refusal(alice.folders.purge(id))).toEqual([409, 'conflict']);
  expect((await alice.folders.trash(id)).state).toBe('TRASH');
  expect(await refusal(read(alice, id, 'a.txt'))).toEqual([410, 'gone']);
  await alice.folders.create({ name: 'old' });
  expect(await refusal(alice.folders.restore(id))).toEqual([409, 'conflict']);
  await alice.folders.delete('old');
  expect((await alice.folders.restore(id)).state).toBe('READY');
  expect(await read(alice, id, 'a.txt')).toBe('x');
  await alice.folders.trash(id);
  await admin.folders.putVolume('main', { retentionSeconds: 0 });
  await eventually('its bytes are gone', () => !existsSync(join(api.volumeDir, id)));
  await eventually('and its row', async () => (await refusal(alice.folders.get(id)))[0] === 404);
  await admin.folders.putVolume('main', { retentionSeconds: 3_600 });
});

test('a clone has the same bytes, and goes its own way', async () => {
  const { id } = await alice.folders.create({ name: 'source' });
  await alice.folders.putFiles({ folder: id }, [
    { path: 'a.txt', read: async () => Buffer.from('one') },
    { path: 'sub/b.txt', read: async () => Buffer.from('two') },
  ]);
  const clone = await alice.folders.clone(id, { name: 'copy' });
  expect(clone.state).toBe('READY');
  expect(await alice.folders.treeSum({ folder: clone.id })).toEqual(await alice.folders.treeSum({ folder: id }));
  await put(alice, clone.id, 'a.txt', 'changed');
  expect(await read(alice, id, 'a.txt')).toBe('one');
});

test('limits bind the number of folders and their bytes, and what is held is counted', async () => {
  const quinn = new Client({ baseUrl, token: await api.user('quincy') });
  await admin.quotas.put({ scope: 'user', name: 'quincy' }, { folders: 2, folderBytes: 1_000 });
  const { id } = await quinn.folders.create({ name: 'one' });
  await quinn.folders.create({ name: 'two' });
  expect(await refusal(quinn.folders.create({ name: 'three' }))).toEqual([403, 'quota_exceeded']);
  await put(quinn, 'one', 'a', 'x'.repeat(600));
  expect(await refusal(put(quinn, 'two', 'b', 'x'.repeat(600)))).toEqual([413, 'too_large']);
  const source = (bytes: number) => ({
    bytes,
    open: async function* open(from: number) {
      yield Buffer.alloc(bytes - from);
    },
  });
  expect(await refusal(quinn.folders.uploadFile({ folder: 'two', path: 'b' }, source(401)))).toEqual([
    413,
    'too_large',
  ]);
  await quinn.folders.uploadFile({ folder: 'two', path: 'b' }, source(400));
  expect(await refusal(quinn.folders.clone(id, { name: 'three' }))).toEqual([403, 'quota_exceeded']);
  expect((await quinn.folders.owners())[0]).toMatchObject({
    scope: 'user',
    folders: { used: 2, limit: 2 },
    bytes: { used: 1_000, limit: 1_000 },
  });
  await quinn.folders.deleteFile({ folder: 'one', path: 'a' });
  expect(await quinn.folders.usage('one')).toMatchObject({ bytes: 0, files: 0, reservedBytes: 0 });
});
test('a permission that is taken away while a session waits refuses its start, with the reason', async () => {
  const { id } = await alice.folders.create({ name: 'mounted' });
  const invitation = await alice.folders.invite(id, { user: 'bob', permissions: ['read'] });
  await bob.folders.accept(invitation.id);
  const writing = session({ name: 'writes', mounts: [{ folder: id, target: '/data' }] });
  const refused = await api.call(keys.bob, 'POST', '/v1/sessions', writing);
  expect([refused.statusCode, refused.json().detail]).toEqual([400, `you may not write the folder ${id}`]);
  const reading = session({ name: 'reads', mounts: [{ folder: id, target: '/data', readOnly: true }] });
  const made = (await api.call(keys.bob, 'POST', '/v1/sessions', reading)).json();
  await readyNode(api);
  await alice.folders.revoke(id, 'bob');
  await pass(api);
  expect(await api.store.sessions.begin(made.id, 1)).toEqual({ outcome: 'stop' });
  await api.store.sessions.finish(made.id, 1, true);
  expect((await api.call(keys.bob, 'GET', `/v1/sessions/${made.id}`)).json()).toMatchObject({
    state: 'ERROR',
    cause: 'folder-denied',
    message: 'folder mounted at /data: its user may no longer read it',
  });
});
