import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Deployment } from '../../src/contract/index.js';
import type { DeploymentLedger } from './deployments.js';
import {
  applied,
  converging,
  deploymentIn,
  done,
  eventsOf,
  exit,
  imaged,
  keeping,
  type Serving,
  servingIn,
  sound,
  startReplicas,
  stopAll,
  tellHealth,
  turn,
  viewOf,
  wish,
} from './deployments.js';
import { type Ledger, openLedger, unsound } from './ledger.js';
import { preempt, query } from './upkeep.js';

let ledger: Ledger;
beforeAll(async () => {
  ledger = await openLedger();
});
afterAll(async () => {
  expect(await unsound(ledger.store)).toEqual({});
  await ledger.store.close();
});

const key = () => null;
const faultsOf = async (deployment: DeploymentLedger) =>
  (await turn(deployment)).replicas.map(({ route, health, fault, message }) => [route, health, fault, message]);

describe('turns of a deployment', () => {
  test('and changes of its owner at once are one after another: every count is of one truth', async () => {
    const one = await deploymentIn(ledger, 'one', wish({ replicas: 3 }));
    const { deployments, id } = one;
    const work: Promise<unknown>[] = [];
    for (let round = 0; round < 8; round += 1) {
      work.push(deployments.turn(id, (seen) => keeping(seen, converging()(seen)), key));
      work.push(deployments.scale(id, 3 + (round % 2), 'admin'));
      work.push(applied(one, { ...imaged(`engine:${round}`, { replicas: 4 }), name: 'one' }));
      work.push(deployments.rolloutChange(id, { kind: round % 2 === 0 ? 'pause' : 'resume' }, 'admin'));
    }
    await Promise.all(work);
    await deployments.scale(id, 4, 'admin');
    await deployments.turn(id, (seen) => keeping(seen, converging()(seen)), key);
    const view = await viewOf(one);
    expect(view).toMatchObject({ replicasWanted: 4, replicasLive: 4 });
    const revisions = (await deployments.revisions(id, { limit: 50 })).items.map(({ revision }) => revision);
    expect(revisions).toEqual(revisions.map((_, at) => revisions.length - at));
    expect(view.rollout?.target).toBe(revisions[0]);
  });

  test('that find all as wanted write nothing but their moment', async () => {
    const same = await servingIn(ledger, 'same');
    const rows = () =>
      query(
        ledger,
        `SELECT to_jsonb(d) - '{turned_at}'::text[] AS d, (SELECT json_agg(r ORDER BY r.session_id) FROM deployment_replicas r WHERE r.deployment_id = d.id) AS r,
        (SELECT count(*) FROM deployment_events e WHERE e.deployment_id = d.id) AS e FROM deployments d WHERE id = $1`,
        [same.id],
      );
    const weights = [{ revision: 1, percent: 100 }];
    await turn(same, () => ({ weights }));
    const before = await rows();
    await turn(same, (seen) => ({ ...converging()(seen), weights }));
    expect(await rows()).toEqual(before);
    expect(await same.deployments.work(same.id)).toMatchObject({ outcome: 'lives', submit: [], stop: [], owner: null });
  });

  test('of one that is not there, or has ended, ask for no decision', async () => {
    const none = await deploymentIn(ledger, 'none', wish({ replicas: 0 }));
    const { deployments, id } = none;
    expect(await viewOf(none)).toMatchObject({ state: 'IDLE', message: 'no replica is wanted' });
    await deployments.end(id, 'admin');
    expect((await turn(none)).outcome).toBe('ended');
    const never = () => {
      throw new Error('nothing is to be decided');
    };
    expect(await deployments.turn(id, never, key)).toEqual({ outcome: 'ended' });
    expect(await deployments.turn('dep_none', never, key)).toEqual({ outcome: 'missing' });
    expect((await deployments.work('dep_none')).outcome).toBe('missing');
  });

  test('whose decision fails leave all as it was', async () => {
    const failing = await deploymentIn(ledger, 'failing');
    const fails = () => {
      throw new Error('a bug');
    };
    await expect(failing.deployments.turn(failing.id, fails, key)).rejects.toThrow('a bug');
    expect((await turn(failing, converging())).replicas).toEqual([]);
    expect(await viewOf(failing)).toMatchObject({ replicasLive: 2 });
  });
});

describe('a replica', () => {
  let served: Serving;
  beforeAll(async () => {
    served = await servingIn(ledger, 'served', wish({ replicas: 4 }));
  });

  test('that exits is seen as unhealthy by its own fault, then as ended, once', async () => {
    const [dying] = served.replicas;
    if (dying === undefined) throw new Error('none runs');
    await exit(ledger, dying, false);
    expect((await served.deployments.route(served.id))?.targets).toHaveLength(3);
    expect((await faultsOf(served))[0]).toEqual(['ACTIVE', 'unhealthy', 'own', 'main ended with exit code 1']);
    expect(await served.deployments.due(-1000)).toContain(served.id);
    await ledger.store.sessions.finish(dying.sessionId, 1, true);
    expect((await faultsOf(served))[0]).toEqual(['ENDED', 'unknown', 'own', 'main ended with exit code 1']);
    expect(await faultsOf(served)).toHaveLength(3);
    expect(await viewOf(served)).toMatchObject({ state: 'DEGRADED', message: '3 of 4 serve', replicasLive: 3 });
  });

  test('whose check fails, or whose node is lost, or which is preempted, leaves the route by that commit', async () => {
    const [, sick, taken] = served.replicas;
    if (sick === undefined || taken === undefined) throw new Error('none runs');
    await tellHealth(ledger, sick, false);
    expect((await served.deployments.route(served.id))?.targets).toHaveLength(2);
    await preempt(ledger, taken.sessionId);
    expect((await served.deployments.route(served.id))?.targets).toHaveLength(1);
    await query(ledger, `UPDATE nodes SET lost_at = now(), lost_reason = 'no sign' WHERE name = 'n1'`);
    expect((await served.deployments.route(served.id))?.targets).toEqual([]);
    expect((await viewOf(served)).state).toBe('UNAVAILABLE');
    expect((await faultsOf(served)).map(([, health, fault]) => [health, fault])).toEqual([
      ['unhealthy', 'own'],
      ['unhealthy', 'platform'],
      ['unhealthy', 'platform'],
    ]);
    await query(ledger, `UPDATE nodes SET lost_at = NULL WHERE name = 'n1'`);
  });

  test('that drains is off the route, is stopped once the turn says so, and is closed as asked for', async () => {
    const leaving = await servingIn(ledger, 'leaving');
    const first = await turn(leaving, ({ replicas }) => ({
      drain: replicas.slice(0, 1).map(({ id }) => ({ id, why: 'surplus' as const })),
    }));
    expect((await leaving.deployments.route(leaving.id))?.targets).toHaveLength(1);
    expect((await leaving.deployments.work(leaving.id)).stop).toEqual([]);
    expect(await viewOf(leaving)).toMatchObject({ replicasLive: 1, replicasServing: 1 });
    const id = first.replicas[0]?.id;
    const draining = await turn(leaving, () => ({ stop: id === undefined ? [] : [id] }));
    expect(draining.replicas[0]).toMatchObject({ route: 'DRAINING', fault: null });
    expect((await leaving.deployments.work(leaving.id)).stop).toEqual([
      { sessionId: id, graceMs: 10_000, message: 'the deployment leaving needs it no longer' },
    ]);
    expect(await stopAll(leaving)).toBe(1);
    expect((await faultsOf(leaving))[0]?.slice(0, 3)).toEqual(['ENDED', 'unknown', 'asked']);
    expect(await faultsOf(leaving)).toHaveLength(1);
  });

  test('that was refused is ended by its own fault and says why; one that nobody submitted is just closed, and stopped where it comes late', async () => {
    const unlucky = await deploymentIn(ledger, 'unlucky');
    const { sessions, idempotency } = ledger.store;
    await turn(unlucky, converging());
    const { submit, owner } = await unlucky.deployments.work(unlucky.id);
    const [refused, forgotten] = submit;
    if (refused === undefined || forgotten === undefined || owner === null) throw new Error('nothing to submit');
    const { sessionId } = refused;
    const spec = (await servedSpec()) as never;
    await idempotency.putSubmission({
      sessionId,
      principal: owner,
      spec,
      sealedSecrets: null,
      submittedAt: new Date().toISOString(),
    });
    await sessions.recordRefusal(sessionId, { code: 'quota_exceeded', detail: 'it would exceed your quota' });
    const failures = { 1: { inARow: 1, lastMs: Date.now() } };
    const seen = await turn(unlucky, ({ replicas }) => ({
      failures,
      drain: replicas.slice(1).map(({ id }) => ({ id, why: 'surplus' as const })),
      stop: replicas.slice(1).map(({ id }) => id),
      retryMs: Date.now() + 60_000,
    }));
    expect(seen.replicas.find(({ id }) => id === sessionId)).toMatchObject({
      route: 'ENDED',
      fault: 'own',
      message: 'it would exceed your quota',
    });
    expect((await turn(unlucky)).failures[1]?.inARow).toBe(1);
    const handedOut = (await turn(unlucky)).replicas.map(({ id, route }) => [id, route]);
    expect(handedOut).toEqual([[forgotten.sessionId, 'DRAINING']]);
    await query(
      ledger,
      `UPDATE deployment_replicas SET submitting_at = now() - interval '2 minutes' WHERE deployment_id = $1`,
      [unlucky.id],
    );
    await turn(unlucky);
    expect((await turn(unlucky)).replicas).toEqual([]);
    expect((await unlucky.deployments.work(unlucky.id)).stop).toEqual([]);

    const late = { sessionId: forgotten.sessionId, principal: owner, spec, sealedSecrets: null };
    await idempotency.putSubmission({ ...late, submittedAt: new Date().toISOString() });
    expect(await stopAll(unlucky)).toBe(1);
    expect(await stopAll(unlucky)).toBe(0);
  });

  test('that served and ended before anybody looked counts as one that served', async () => {
    const quick = await deploymentIn(ledger, 'quick', wish({ replicas: 1 }));
    await turn(quick, converging());
    const [replica] = await startReplicas(quick);
    if (replica === undefined) throw new Error('none runs');
    await tellHealth(ledger, replica, true);
    await exit(ledger, replica);
    const [ended] = (await turn(quick)).replicas;
    expect(ended).toMatchObject({ route: 'ENDED', fault: 'own' });
    expect(ended?.servingMs).not.toBeNull();
  });
});

const servedSpec = async () =>
  (await query<{ spec: object }>(ledger, `SELECT spec FROM submissions WHERE spec->>'kind' = 'inference' LIMIT 1`))[0]
    ?.spec;

describe('a rollout', () => {
  let rolled: Serving;
  const change = (kind: 'pause' | 'resume' | 'promote') =>
    rolled.deployments.rolloutChange('rolled', { kind }, 'admin');
  const undo = (toRevision: number | null = null) =>
    rolled.deployments.rolloutChange('rolled', { kind: 'undo', toRevision }, 'admin');
  const roll = (image: string, strategy: object = { kind: 'rolling' }) =>
    applied(rolled, { ...imaged(image, { strategy }), name: 'rolled' });
  beforeAll(async () => {
    rolled = await servingIn(ledger, 'rolled');
  });

  test('is paused, goes on and is promoted where there is something to', async () => {
    expect(await change('pause')).toEqual({ problem: 'no-rollout' });
    expect(await undo()).toEqual({ problem: 'no-revision' });
    const canary = { kind: 'canary', steps: [{ percent: 20 }, { percent: 100 }] };
    expect(await roll('engine:2', canary)).toMatchObject({ rollout: { from: 1, target: 2, step: 1, steps: 2 } });
    expect(await change('resume')).toEqual({ problem: 'not-paused' });
    expect(await change('pause')).toMatchObject({ rollout: { paused: true, rollsBackAt: null } });
    expect(await change('pause')).toMatchObject({ rollout: { paused: true } });
    expect(sound<Deployment>(await change('resume')).rollout).toMatchObject({ paused: false });
    await change('promote');
    expect((await turn(rolled)).rollout).toMatchObject({ promoted: true });
    await turn(rolled, ({ rollout }) => ({
      rollout: rollout === null ? null : { ...rollout, step: 1, promoted: false },
    }));
    expect(await change('promote')).toEqual({ problem: 'nothing-to-promote' });
  });

  test('is undone to the last good revision, gradually, from what is given up', async () => {
    expect(await undo(9)).toEqual({ problem: 'no-revision' });
    expect(await undo()).toMatchObject({ currentRevision: 1, rollout: { from: 2, target: 1 } });
    expect((await turn(rolled)).rollout?.strategy.kind).toBe('rolling');
    await turn(rolled, done);
    expect(await roll('engine:3')).toMatchObject({ rollout: { from: 1, target: 3 } });
    await turn(rolled, done);
    expect(await undo()).toMatchObject({ currentRevision: 3, rollout: { from: 3, target: 1 } });
    await turn(rolled, done);
    expect(await undo(2)).toMatchObject({ rollout: { from: 1, target: 2 } });
    expect(await undo(2)).toMatchObject({ rollout: { from: 1, target: 2 } });
  });

  test('gone back says why at its revision, and the good one stays', async () => {
    const because = 'revision 2 did not serve within 7200 s: back to revision 1';
    await turn(rolled, () => ({
      rollout: null,
      verdict: { kind: 'roll-back', because },
      events: [{ kind: 'rollout', message: because, data: {} }],
    }));
    expect(await viewOf(rolled)).toMatchObject({ currentRevision: 1, rollout: null, state: 'READY' });
    const { items } = await rolled.deployments.revisions(rolled.id, { limit: 5 });
    expect(items.find(({ revision }) => revision === 2)).toMatchObject({ state: 'failed', message: because });
  });
});

test('events that equal the last are one with its count; of events and decisions the newest 500 stay', async () => {
  const loud = await deploymentIn(ledger, 'loud', wish({ replicas: 0 }));
  const told = { kind: 'corrected', message: 'live 2, wanted 3', data: { live: 2, wanted: 3 } };
  await turn(loud, () => ({ events: [told, told] }));
  await turn(loud, () => ({ events: [told] }));
  expect((await eventsOf(loud)).at(-1)).toBe('corrected ×3: live 2, wanted 3');
  await query(
    ledger,
    `WITH e AS (INSERT INTO deployment_events (deployment_id, kind, message, actor) SELECT $1::text, 'x', g::text, 'a' FROM generate_series(1, 600) g)
      INSERT INTO deployment_decisions (deployment_id, decision) SELECT $1::text, json_build_object('wanted', g) FROM generate_series(1, 600) g`,
    [loud.id],
  );
  const decision = {
    at: new Date().toISOString(),
    current: 0,
    wanted: 1,
    by: 'busy',
    because: 'busy is 9: 0 → 1',
    rules: [],
  };
  await turn(loud, () => ({ decision, fired: 'busy', wanted: 1, events: [told] }));
  expect(await viewOf(loud)).toMatchObject({ replicasWanted: 1, lastDecision: decision });
  expect((await turn(loud)).lastFiredMs).toHaveProperty('busy');
  const counts = await query(
    ledger,
    `SELECT (SELECT count(*)::int FROM deployment_events WHERE deployment_id = $1) AS events,
      (SELECT count(*)::int FROM deployment_decisions WHERE deployment_id = $1) AS decisions`,
    [loud.id],
  );
  expect(counts).toEqual([{ events: 500, decisions: 500 }]);
  const { items, nextCursor } = await loud.deployments.decisions(loud.id, { limit: 1 });
  expect(items).toEqual([decision]);
  expect((await loud.deployments.decisions(loud.id, { limit: 1, cursor: nextCursor ?? '' })).items).toEqual([
    { wanted: 600 },
  ]);
});
