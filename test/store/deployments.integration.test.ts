import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { deploymentSchema, revisionSchema } from '../../src/contract/index.js';
import {
  applied,
  converging,
  type DeploymentLedger,
  deploymentIn,
  done,
  EVERYTHING,
  eventsOf,
  imaged,
  serving,
  servingIn,
  startReplicas,
  stopAll,
  tellHealth,
  turn,
  viewOf,
  wish,
} from './deployments.js';
import { hashOf, type Ledger, openLedger, unsound } from './ledger.js';
import { claim, newPool } from './models.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(async () => {
  expect(await unsound(ledger.store)).toEqual({});
  await ledger.store.close();
});

test('from applied to served: rows first, sessions under their ids, a route once the check passed', async () => {
  const chat = await deploymentIn(ledger, 'chat');
  const { deployments, id } = chat;
  expect(await viewOf(chat)).toMatchObject({
    state: 'DEPLOYING',
    replicasWanted: 2,
    replicasLive: 0,
    rollout: { from: null, target: 1 },
  });
  expect(await deployments.due(-1000)).toEqual([id]);

  expect((await turn(chat, converging())).replicas).toEqual([]);
  const { submit, deployment, owner } = await deployments.work(id);
  expect(deployment).toEqual({ name: 'chat', project: 'default/default', group: 'default', modelName: null });
  expect(owner?.userName).toBe('admin');
  expect(submit).toHaveLength(2);
  const [first] = submit;
  expect(first?.sealedSecrets?.toString()).toBe(`sealed for ${id}/1`);
  expect(first?.sealedApiKey?.toString()).toBe(`key of ${first?.sessionId}`);
  expect(first?.name).toBe(`chat-r1-${first?.sessionId.slice(-5)}`);
  expect(first?.template).not.toHaveProperty('environment');
  expect((await deployments.work(id)).submit).toEqual(submit);

  const started = await startReplicas(chat);
  expect((await deployments.work(id)).submit).toEqual([]);
  const warming = await turn(chat);
  expect(warming.replicas.map(({ route, health }) => [route, health])).toEqual([
    ['WARMING', 'unknown'],
    ['WARMING', 'unknown'],
  ]);
  expect((await deployments.route(id))?.targets).toEqual([]);
  for (const replica of started) await tellHealth(chat, replica, true);
  const route = await deployments.route(id);
  expect(route?.targets).toHaveLength(2);
  const target = { host: '127.0.0.1', port: 20_000, revision: 1, attempt: 1, isDegraded: false };
  expect(route?.targets[0]).toMatchObject(target);

  const served = await turn(chat, done);
  expect(served.replicas.every(({ servingMs }) => servingMs !== null)).toBe(true);
  const view = await viewOf(chat);
  expect(deploymentSchema.parse(view)).toEqual(view);
  expect(view).toMatchObject({ state: 'READY', message: '2 of 2 serve', currentRevision: 1, rollout: null });
  expect((await deployments.routes())[0]).toMatchObject({
    weights: [{ revision: 1, percent: 100 }],
    state: 'READY',
    modelName: null,
  });
  expect(await deployments.deploymentOf(started[0]?.sessionId ?? '')).toBe(id);
  expect(await deployments.deploymentOf('ses_nobody')).toBeNull();
  expect(await deployments.deploymentsOn('n1')).toEqual([id]);
  expect(await deployments.due(-1000)).toEqual([]);
  expect(await eventsOf(chat)).toEqual([
    'applied ×1: made with 2 wanted',
    'rollout ×1: to revision 1: its first revision',
    'state ×1: DEPLOYING → READY: 2 of 2 serve',
  ]);
});

describe('what is applied', () => {
  let llm: DeploymentLedger;
  const revisionsOf = async () =>
    (await llm.deployments.revisions(llm.id, { limit: 10 })).items.map(({ revision, state }) => `${revision} ${state}`);
  beforeAll(async () => {
    llm = await servingIn(ledger, 'llm', wish({ modelName: 'llama' }));
  });

  test('again is nothing new; its fields are changed at once, and another template is another revision', async () => {
    await applied(llm, { ...wish({ modelName: 'llama' }), name: 'llm' });
    expect(await eventsOf(llm)).toHaveLength(3);
    const { replicas: _, ...omitted } = wish({ access: 'public', strategy: { kind: 'blue-green' } });
    expect(await applied(llm, { ...omitted, name: 'llm', modelName: 'llama' })).toMatchObject({
      access: 'public',
      replicasWanted: 2,
      strategy: { kind: 'blue-green', promoteAfterSeconds: null },
      rollout: null,
    });
    const rolled = await applied(llm, { ...imaged('engine:2', { modelName: 'llama' }), name: 'llm' });
    expect(rolled).toMatchObject({ rollout: { from: 1, target: 2 }, currentRevision: 1, state: 'DEPLOYING' });
    expect(await revisionsOf()).toEqual(['2 rolling-out', '1 current']);
    const [newest] = (await llm.deployments.revisions(llm.id, { limit: 1 })).items;
    expect(revisionSchema.parse(newest)).toEqual(newest);
    expect(newest).toMatchObject({ environmentNames: ['HF_TOKEN'], template: { image: 'engine:2' } });
    expect(JSON.stringify(newest)).not.toContain('secret');
  });

  test('and failed is rolled out again when it is applied again', async () => {
    const back = { kind: 'roll-back', because: 'it never served' } as const;
    await turn(llm, () => ({ rollout: null, verdict: back }));
    expect(await revisionsOf()).toEqual(['2 failed', '1 current']);
    expect((await viewOf(llm)).rollout).toBeNull();
    await applied(llm, { ...imaged('engine:2', { modelName: 'llama' }), name: 'llm' });
    expect(await revisionsOf()).toEqual(['2 rolling-out', '1 current']);
    await turn(llm, done);
    expect(await viewOf(llm)).toMatchObject({ currentRevision: 2, rollout: null });
  });

  test('as a dry run shows what would be, and keeps nothing', async () => {
    const before = [await viewOf(llm), await eventsOf(llm)];
    const dry = { dryRun: true, templateHash: hashOf('other') };
    const wanted = { ...wish({ replicas: 5, modelName: 'llama' }), name: 'llm' };
    expect(await applied(llm, wanted, dry)).toMatchObject({ replicasWanted: 5, rollout: { target: 3 } });
    expect([await viewOf(llm), await eventsOf(llm)]).toEqual(before);
    expect(await applied(llm, { ...wish(), name: 'fresh' }, dry)).toMatchObject({ name: 'fresh', state: 'DEPLOYING' });
    expect(await llm.deployments.deployment('fresh', EVERYTHING)).toBeNull();
  });

  test.each([
    ['another project’s name', { project: 'default/other', name: 'llm' }, 'name'],
    ['a group that it is not in', { group: 'other', name: 'llm' }, 'group'],
    ['a group that is not there', { group: 'none', name: 'new' }, 'group'],
    ['a project that is not there', { project: 'default/none', name: 'new' }, 'project'],
    ['a model name of another deployment', { modelName: 'llama', name: 'new' }, 'modelName'],
  ])('is refused with %s', async (_, change, field) => {
    expect(await applied(llm, { ...wish({ modelName: 'x' }), ...change })).toMatchObject({ problem: 'refused', field });
  });

  test('and a model claim never have one model name, whoever is first', async () => {
    const { models } = ledger.store;
    const by = { userId: ledger.admin.userId, sealedEnvironment: null };
    expect(await models.createPool(newPool(), by)).toMatchObject({ name: 'warm' });
    const pooled = { ...ledger, models, members: [] };
    await claim(pooled, 'claimed');
    await expect(claim(pooled, 'llama')).rejects.toThrow('name-taken');
    const taken = await applied(llm, { ...wish({ modelName: 'claimed' }), name: 'new' });
    expect(taken).toMatchObject({ problem: 'refused', field: 'modelName' });
    const both = await Promise.allSettled([
      claim(pooled, 'raced'),
      applied(llm, { ...wish({ modelName: 'raced' }), name: 'racer' }),
    ]);
    const made = both.filter((one) => one.status === 'fulfilled' && !('problem' in one.value));
    expect(made).toHaveLength(1);
  });
});

test('one that ends is off its endpoint at once, over with its last replica, and its name and history stay readable', async () => {
  const old = await serving(await deploymentIn(ledger, 'old'));
  const { deployments, id } = old;
  expect((await deployments.route(id))?.targets).toHaveLength(2);
  expect(await deployments.end('old', 'admin')).toMatchObject({ state: 'ENDING', weights: [] });
  expect((await deployments.route(id))?.targets).toEqual([]);
  expect(await deployments.end('old', 'admin')).toMatchObject({ state: 'ENDING' });
  expect(await deployments.scale('old', 3, 'admin')).toEqual({ problem: 'ending' });
  expect(await applied(old, { ...wish(), name: 'old' })).toEqual({ problem: 'ending' });

  const seen = await turn(old, ({ replicas }) => ({
    stop: replicas.map((one) => one.id),
    create: [{ revision: 1, count: 1 }],
  }));
  expect(seen).toMatchObject({ outcome: 'lives', isEnding: true });
  expect(await stopAll(old)).toBe(2);
  expect(await stopAll(old)).toBe(0);
  const last = await turn(old);
  expect(last.replicas.map(({ route, fault }) => [route, fault])).toEqual([
    ['ENDED', 'asked'],
    ['ENDED', 'asked'],
  ]);
  expect(last.outcome).toBe('ended');
  expect((await deployments.work(id)).outcome).toBe('ended');
  expect(await deployments.open()).not.toContain(id);
  expect(await deployments.route(id)).toBeNull();
  expect(await deployments.end('old', 'admin')).toMatchObject({ id, state: 'ENDED' });
  expect(await eventsOf(old)).toContain('ending ×1: off its endpoint; its replicas drain and end');

  const next = await deploymentIn(ledger, 'old');
  expect((await deployments.deployment('old', EVERYTHING))?.id).toBe(next.id);
  expect((await deployments.deployment(id, EVERYTHING))?.state).toBe('ENDED');
  expect(await deployments.deployment('old', { projects: ['default/other'] })).toBeNull();
  const all = await deployments.deployments({ limit: 50, ended: true }, { projects: ['default/default'] });
  expect(all.items.filter(({ name }) => name === 'old')).toHaveLength(2);
  expect((await deployments.deployments({ limit: 2, ended: false }, EVERYTHING)).nextCursor).not.toBeNull();
});
