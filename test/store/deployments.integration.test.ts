import { expect, test } from 'vitest';
import {
  applied,
  converging,
  EVERYTHING,
  eventsOf,
  openDeployment,
  startReplicas,
  tellHealth,
  turn,
  viewOf,
} from './deployments.js';
import { unsound } from './ledger.js';

test('from applied to served: rows first, sessions under their ids, a route once the check passed', async () => {
  const ledger = await openDeployment();
  const { deployments, id, store } = ledger;
  expect(await viewOf(ledger)).toMatchObject({
    state: 'DEPLOYING',
    replicasWanted: 2,
    replicasLive: 0,
    rollout: { from: null, target: 1 },
  });
  expect(await deployments.due(-1000)).toEqual([id]);

  expect((await turn(ledger, converging())).replicas).toEqual([]);
  const { submit, deployment, owner } = await deployments.work(id);
  expect(deployment).toEqual({ name: 'chat', project: 'default/default', group: 'default' });
  expect(owner?.userName).toBe('admin');
  expect(submit).toHaveLength(2);
  expect(submit[0]?.sealedSecrets?.toString()).toBe(`sealed for ${id}/1`);
  expect(submit[0]?.sealedApiKey?.toString()).toBe(`key of ${submit[0]?.sessionId}`);
  expect(submit[0]?.name).toBe(`chat-r1-${submit[0]?.sessionId.slice(-5)}`);
  expect(submit[0]?.template).not.toHaveProperty('environment');
  expect((await deployments.work(id)).submit).toEqual(submit);

  const started = await startReplicas(ledger);
  expect((await deployments.work(id)).submit).toEqual([]);
  expect((await turn(ledger)).replicas.map(({ route, health }) => [route, health])).toEqual([
    ['WARMING', 'unknown'],
    ['WARMING', 'unknown'],
  ]);
  expect((await deployments.route(id))?.targets).toEqual([]);
  for (const replica of started) await tellHealth(ledger, replica, true);
  const route = await deployments.route(id);
  expect(route?.targets).toHaveLength(2);
  expect(route?.targets[0]).toMatchObject({
    host: '127.0.0.1',
    port: 20_000,
    revision: 1,
    attempt: 1,
    isDegraded: false,
  });

  const served = await turn(ledger, ({ rollout }) => ({
    rollout: null,
    verdict: rollout === null ? null : { kind: 'done', because: 'all serve' },
    weights: [{ revision: 1, percent: 100 }],
    events: [{ kind: 'rollout', message: 'done', data: {} }],
  }));
  expect(served.replicas.every(({ servingMs }) => servingMs !== null)).toBe(true);
  expect(await viewOf(ledger)).toMatchObject({
    state: 'READY',
    message: '2 of 2 serve',
    currentRevision: 1,
    rollout: null,
  });
  expect((await deployments.deployment('chat', EVERYTHING))?.replicas).toHaveLength(2);
  expect((await deployments.routes())[0]).toMatchObject({ weights: [{ revision: 1, percent: 100 }], state: 'READY' });
  expect(await deployments.deploymentOf(started[0]?.sessionId ?? '')).toBe(id);
  expect(await deployments.deploymentsOn('n1')).toEqual([id]);
  expect(await deployments.due(-1000)).toEqual([]);
  expect(await eventsOf(ledger)).toEqual([
    'applied ×1: made with 2 wanted',
    'rollout ×1: to revision 1: its first revision',
    'rollout ×1: done',
    'state ×1: DEPLOYING → READY: 2 of 2 serve',
  ]);
  await applied(ledger);
  expect(await eventsOf(ledger)).toHaveLength(4);
  expect(await unsound(store)).toEqual({});
  await store.close();
});
