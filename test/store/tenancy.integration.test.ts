import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FolderId, Principal } from '../../src/contract/index.js';
import { groupPolicySchema } from '../../src/contract/index.js';
import type { Store } from '../../src/store/store.js';
import { hashOf, type Ledger, nextId, openLedger, stopOf, submit, submitAndAdmit } from './ledger.js';

let ledger: Ledger;
let store: Store;
let alice: Principal;
let bob: Principal;
beforeAll(async () => {
  ledger = await openLedger();
  store = ledger.store;
  await store.tenancy.createProject({ id: nextId('prj'), name: 'vision', domain: 'default' });
  await store.tenancy.createDomain({ id: nextId('dom'), name: 'lab' });
  await store.tenancy.createProject({ id: nextId('prj'), name: 'vision', domain: 'lab' });
  alice = await addUser('alice', 'default', ['vision']);
  bob = await addUser('bob', 'lab', ['vision']);
});
afterAll(() => store.close());

async function addUser(name: string, domain: string, projects: readonly string[]): Promise<Principal> {
  await store.tenancy.createUser({ id: nextId('usr'), name, domain, role: 'user', projects });
  await store.tenancy.createKey(keyOf(name));
  const principal = await store.tenancy.authenticate(hashOf(`key-${name}`));
  if (principal === null) throw new Error('the key is not known');
  return principal;
}
const keyOf = (user: string, change: Partial<{ name: string; hash: Buffer; expiresInDays: number }> = {}) => ({
  id: nextId('key'),
  name: 'laptop',
  user,
  scope: 'write' as const,
  hash: hashOf(`key-${user}`),
  prefix: 'brt_',
  expiresInDays: null,
  ...change,
});

describe('people', () => {
  test('what is there is not made again, and unknown scopes are named', async () => {
    const { tenancy } = store;
    expect(await tenancy.createDomain({ id: nextId('dom'), name: 'lab' })).toBe('exists');
    expect(await tenancy.createProject({ id: nextId('prj'), name: 'x', domain: 'nope' })).toBe('no-domain');
    const user = { id: nextId('usr'), name: 'eve', domain: 'lab', role: 'user' as const, projects: ['nope'] };
    expect(await tenancy.createUser(user)).toBe('no-project');
    expect(await tenancy.getUser('eve')).toBeNull();
    expect(await tenancy.createKey(keyOf('nobody'))).toBe('no-user');
    expect(await tenancy.createKey(keyOf('alice', { hash: hashOf('second') }))).toBe('exists');
  });
  test('are members of projects of their own domain only', async () => {
    const member = { domain: 'lab', project: 'vision', user: 'alice', role: 'manager' as const };
    expect(await store.tenancy.putMember(member)).toBe('missing');
    const own = { ...member, user: 'bob' };
    expect(await store.tenancy.putMember(own)).toBe('ok');
    expect((await store.tenancy.principalOf('bob'))?.projects).toMatchObject([{ name: 'vision', role: 'manager' }]);
    expect(await store.tenancy.removeMember({ ...own, project: 'nope' })).toBe('missing');
  });
  test('see their own lists, page by page', async () => {
    const page = { limit: 1 };
    expect((await store.tenancy.listUsers(page, alice)).items.map((user) => user.name)).toEqual(['alice']);
    const first = await store.tenancy.listUsers(page, ledger.admin);
    const second = await store.tenancy.listUsers({ limit: 9, cursor: first.nextCursor ?? '' }, ledger.admin);
    expect([...first.items, ...second.items].map((user) => user.name)).toEqual(['admin', 'alice', 'bob']);
    expect((await store.tenancy.listDomains({ limit: 9 }, bob)).items.map((domain) => domain.name)).toEqual(['lab']);
    const lab = { ...bob, role: 'domain-admin' as const };
    expect((await store.tenancy.listProjects({ limit: 9 }, lab)).items.map((project) => project.domain)).toEqual([
      'lab',
    ]);
  });
});

describe('keys', () => {
  test('that were revoked or have expired are unknown', async () => {
    const hash = hashOf('short');
    await store.tenancy.createKey(keyOf('alice', { name: 'short', hash, expiresInDays: 1 }));
    expect((await store.tenancy.authenticate(hash))?.userName).toBe('alice');
    const [key] = (await store.tenancy.listKeys({ limit: 9 }, alice)).items.filter((one) => one.name === 'short');
    expect(await store.tenancy.revokeKey(key?.id ?? '', bob)).toBe('missing');
    expect(await store.tenancy.revokeKey(key?.id ?? '', alice)).toBe('ok');
    expect(await store.tenancy.revokeKey(key?.id ?? '', alice)).toBe('ok');
    expect(await store.tenancy.authenticate(hash)).toBeNull();
    expect(await store.tenancy.authenticate(hashOf('never'))).toBeNull();
  });
  test('of a new key file are added by a second bootstrap, which changes nothing else', async () => {
    const first = {
      ids: { domain: nextId('dom'), project: nextId('prj'), user: nextId('usr'), key: nextId('key') },
      adminKeyHash: hashOf('rotated'),
      adminKeyPrefix: 'brt_rot',
      group: 'default',
      nodes: [{ name: 'n1', tokenHash: hashOf('n1') }],
      volumes: ['main'],
    };
    const before = await store.nodes.get('n1');
    await Promise.all([store.tenancy.bootstrap(first), store.tenancy.bootstrap(first)]);
    expect(await store.tenancy.authenticate(hashOf('rotated'))).toMatchObject({ userName: 'admin', role: 'operator' });
    expect(await store.tenancy.authenticate(hashOf('admin-key'))).not.toBeNull();
    expect(await store.nodes.get('n1')).toEqual(before);
  });
});

describe('sessions', () => {
  test('are seen by their owner, the members of their project, and operators; for others they are not there', async () => {
    const id = await submitAndAdmit(ledger, { name: 'train', labels: { team: 'a' } }, alice);
    const carol = await addUser('carol', 'default', ['vision']);
    for (const viewer of [alice, carol, ledger.admin]) expect((await store.sessions.get(id, viewer))?.id).toBe(id);
    for (const idOrName of [id, 'train']) {
      expect(await store.sessions.find(idOrName, bob)).toBeNull();
      expect((await store.sessions.find(idOrName, alice))?.id).toBe(id);
    }
    const filters = [
      { label: ['team:a'] },
      { label: ['team'] },
      { project: 'default/vision' },
      { user: 'alice' },
      { state: ['pending'] },
    ];
    for (const filter of filters)
      expect((await store.sessions.list({ limit: 9, open: true, ...filter }, alice)).items).toHaveLength(1);
    for (const filter of [{ label: ['team:b'] }, { project: 'lab/vision' }, { open: false }, { name: 'x' }]) {
      expect((await store.sessions.list({ limit: 9, ...filter }, alice)).items).toEqual([]);
    }
    expect((await store.sessions.list({ limit: 9 }, bob)).items).toEqual([]);
    await store.sessions.requestStop(stopOf(id));
  });
  test('read for admission with their project, group, quotas, pending limits and the taken name', async () => {
    await store.settings.putQuota('user', 'alice', { limits: { pendingSessions: 1, gpuCount: 2 }, ifMatch: null });
    const first = await submitAndAdmit(ledger, { name: 'one' }, alice);
    const context = await store.sessions.readAdmission(await submit(ledger, { name: 'one', group: 'nope' }, alice));
    expect(context).toMatchObject({
      project: { name: 'vision', domain: 'default' },
      isMember: true,
      group: null,
      nameTakenBy: first,
      alreadyAdmitted: null,
      quotas: [{ scope: 'user', name: 'alice', held: { gpuCount: 0 } }],
      pending: [{ scope: 'user', name: 'alice', waiting: 1 }],
    });
    const other = await store.sessions.readAdmission(await submit(ledger, { project: 'lab/vision' }, alice));
    expect(other).toMatchObject({
      isMember: false,
      group: { mayUse: true },
      nodes: [{ name: 'n1', devices: { length: 4 } }],
    });
    expect(await store.sessions.readAdmission(nextId('ses'))).toBeNull();
    await store.sessions.requestStop(stopOf(first));
  });
});

describe('settings', () => {
  test('of a group are changed under their ETag, and closed to those who may not use it', async () => {
    const policy = groupPolicySchema.parse({});
    const group = { name: 'closed', policy, domains: [], projects: ['lab/vision'] };
    expect(await store.settings.createGroup({ ...group, domains: ['nope'] })).toBe('no-scope');
    expect(await store.settings.createGroup(group)).toMatchObject({
      name: 'closed',
      projects: ['lab/vision'],
      etag: '1',
    });
    expect(await store.settings.createGroup(group)).toBe('exists');
    expect(await store.settings.getGroup('closed', alice)).toBeNull();
    expect(await store.settings.getGroup('closed', bob)).not.toBeNull();
    expect((await store.settings.listGroups({ limit: 9 }, alice)).items.map((one) => one.name)).toEqual(['default']);
    const patch = { policy: { paused: true }, ifMatch: '1' };
    expect(await store.settings.patchGroup('closed', patch)).toMatchObject({
      etag: '2',
      policy: { paused: true, placement: 'dispersed' },
    });
    expect(await store.settings.patchGroup('closed', patch)).toBe('stale');
    expect(await store.settings.patchGroup('closed', { domains: ['nope'], ifMatch: null })).toBe('no-scope');
    expect(await store.settings.patchGroup('nope', patch)).toBe('missing');
  });
  test('of quotas are changed under their ETag, and listed to whom they bind', async () => {
    expect(await store.settings.getQuota('project', 'vision')).toBeNull(); // two projects have this name
    expect(await store.settings.getQuota('project', 'lab/vision')).toMatchObject({ limits: {}, etag: '0' });
    const change = { limits: { gpuCount: 2 }, ifMatch: '0' };
    expect(await store.settings.putQuota('project', 'lab/vision', change)).toMatchObject({
      etag: '1',
      held: { gpuCount: 0 },
    });
    expect(await store.settings.putQuota('project', 'lab/vision', change)).toBe('stale');
    expect(await store.settings.putQuota('domain', 'nope', change)).toBe('missing');
    const listed = await store.settings.listQuotas({ limit: 9 }, bob);
    expect(listed.items.map((quota) => quota.name)).toEqual(['lab/vision']);
  });
});

describe('folders', () => {
  test('are made once in a project, found by it, and kept while a session mounts them', async () => {
    const folder = {
      id: nextId<FolderId>('fld'),
      name: 'data',
      project: null,
      volume: 'main',
      usage: 'general' as const,
    };
    const made = await store.folders.create(folder, alice);
    expect(made).toMatchObject({ project: 'vision', owner: 'alice', state: 'READY' });
    expect(await store.folders.create(folder, alice)).toEqual(made);
    expect(await store.folders.create({ ...folder, id: nextId('fld') }, alice)).toBe('exists');
    expect(await store.folders.create({ ...folder, id: nextId('fld'), project: 'default' }, alice)).toBe('no-project');
    expect(await store.folders.find('data', bob)).toBeNull();
    const mounts = [{ folder: 'data', target: '/data' }];
    const id = await submitAndAdmit(ledger, { name: 'reader', mounts }, alice);
    expect((await store.sessions.get(id, alice))?.mounts).toMatchObject([
      { folder: 'data', target: '/data', readOnly: false },
    ]);
    expect(await store.folders.remove(folder.id)).toEqual({ mountedBy: ['reader'] });
    await store.sessions.requestStop(stopOf(id));
    expect(await store.folders.remove(folder.id)).toBe('ok');
    expect(await store.folders.remove(folder.id)).toBe('ok');
    await expect(submitAndAdmit(ledger, { mounts }, alice)).rejects.toThrow('removed');
    await store.folders.purged(folder.id);
    expect(await store.folders.remove(folder.id)).toBe('missing');
    expect((await store.folders.list({ limit: 9 }, alice)).items).toEqual([]);
  });
});

describe('an idempotency key', () => {
  const entry = { principal: 'usr_1', route: 'POST /v1/sessions', bodyHash: hashOf('body'), resourceId: 'ses_1' };
  test('of a hundred calls at once is new for one', async () => {
    const calls = Array.from({ length: 100 }, (_, index) =>
      store.idempotency.begin({ ...entry, key: 'k', resourceId: `ses_${index}` }),
    );
    const answers = await Promise.all(calls);
    expect(answers.filter((answer) => answer.outcome === 'new')).toHaveLength(1);
    expect(new Set(answers.map((answer) => 'resourceId' in answer && answer.resourceId)).size).toBe(1);
  });
  test('answers what was saved, refuses another body, and is free again when it was forgotten', async () => {
    const call = { ...entry, key: 'k2' };
    expect(await store.idempotency.begin(call)).toEqual({ outcome: 'new', resourceId: 'ses_1' });
    expect(await store.idempotency.begin(call)).toEqual({ outcome: 'running', resourceId: 'ses_1' });
    expect(await store.idempotency.begin({ ...call, bodyHash: hashOf('other') })).toEqual({ outcome: 'reused' });
    await store.idempotency.finish({ ...call, status: 201, body: { id: 'ses_1' } });
    await store.idempotency.finish({ ...call, status: 500, body: null });
    const done = { outcome: 'done', resourceId: 'ses_1', status: 201, body: { id: 'ses_1' } };
    expect(await store.idempotency.begin(call)).toEqual(done);
    await store.idempotency.forget(call);
    expect(await store.idempotency.begin(call)).toEqual(done);
    await store.idempotency.begin({ ...call, key: 'k3' });
    await store.idempotency.forget({ ...call, key: 'k3' });
    expect(await store.idempotency.begin({ ...call, key: 'k3' })).toMatchObject({ outcome: 'new' });
    expect(await store.idempotency.sweep()).toBe(0);
  });
  test('whose first try died without an answer is taken over by one of two who come back', async () => {
    const call = { ...entry, key: 'k4', resourceId: 'ses_first' };
    await store.idempotency.begin(call);
    const client = new pg.Client({ connectionString: ledger.url });
    await client.connect();
    await client.query("UPDATE idempotency SET created_at = now() - interval '3 minutes' WHERE key = 'k4'");
    await client.end();
    const again = { ...call, resourceId: 'ses_second' };
    const answers = await Promise.all([store.idempotency.begin(again), store.idempotency.begin(again)]);
    expect(answers.map(({ outcome }) => outcome).toSorted()).toEqual(['new', 'running']);
    for (const answer of answers) expect(answer).toMatchObject({ resourceId: 'ses_first' });
  });
  test('of a submission without an answer is found by the sweeper', async () => {
    const sessionId = await submit(ledger);
    expect(await store.idempotency.orphanSubmissions(60_000, 10)).not.toContain(sessionId);
    expect(await store.idempotency.orphanSubmissions(-1000, 100)).toContain(sessionId);
    const metrics = await store.control.metrics();
    expect(metrics.find((metric) => metric.name === 'gpus')).toEqual({
      name: 'gpus',
      labels: { group: 'default' },
      value: 4,
    });
  });
});
