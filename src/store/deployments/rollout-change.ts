import type { Deployment } from '../../contract/index.js';
import type { Rollout } from '../../deployments/rollout.js';
import type { Runner } from '../database.js';
import type { DeploymentProblem, DeploymentStore } from '../deployment-store.js';
import { ms } from '../models/sql-words.js';
import { json, sql } from '../sql.js';
import { changeOpen } from './change.js';
import { recordDeploymentEvent } from './deployment-events.js';
import { markChanged } from './lock-deployment.js';
import { refreshState } from './refresh-state.js';
import { startRollout } from './start-rollout.js';

type Change = Parameters<DeploymentStore['rolloutChange']>[1];

interface Stands {
  readonly id: string;
  readonly rollout: Rollout | null;
  readonly current: number | null;
  readonly nowMs: number;
}

const readStands = (tx: Runner, deploymentId: string): Promise<Stands | undefined> =>
  tx.first<Stands>(sql`
    SELECT id, rollout, current_revision AS current, ${ms(sql`clock_timestamp()`)} AS "nowMs" FROM deployments WHERE id = ${deploymentId}`);

/** The last good one: of a rollout that goes on, what it comes from; else the one that was good before. */
async function goodBefore(tx: Runner, { id, rollout, current }: Stands): Promise<number | null> {
  if (rollout !== null) return current;
  const row = await tx.first<{ revision: number }>(sql`
    SELECT revision FROM deployment_revisions WHERE deployment_id = ${id} AND good_at IS NOT NULL AND revision <> ${current}::int
    ORDER BY good_at DESC LIMIT 1`);
  return row?.revision ?? null;
}

async function undo(
  tx: Runner,
  stands: Stands,
  { toRevision, actor }: { readonly toRevision: number | null; readonly actor: string },
): Promise<DeploymentProblem | null> {
  const target = toRevision ?? (await goodBefore(tx, stands));
  const known = await tx.first(
    sql`SELECT 1 FROM deployment_revisions WHERE deployment_id = ${stands.id} AND revision = ${target}::int`,
  );
  if (target === null || known === undefined) return { problem: 'no-revision' };
  if (await startRollout(tx, stands.id, { target, because: 'asked for by hand', actor })) {
    await markChanged(tx, stands.id);
    await refreshState(tx, stands.id);
  }
  return null;
}

/** Its last step has nothing behind it; a rolling one goes on by itself. */
function isPromotable({ strategy, step }: Rollout): boolean {
  if (strategy.kind === 'rolling') return false;
  if (strategy.kind === 'blue-green') return step === 0;
  return (strategy.steps[step]?.percent ?? 100) < 100;
}

/** What is asked for stands already: null. */
function changed(
  rollout: Rollout,
  kind: 'pause' | 'resume' | 'promote',
  nowMs: number,
): Rollout | null | DeploymentProblem {
  switch (kind) {
    case 'pause':
      return rollout.paused ? null : { ...rollout, paused: true };
    case 'resume':
      return rollout.paused ? { ...rollout, paused: false, progressMs: nowMs } : { problem: 'not-paused' };
    case 'promote':
      if (!isPromotable(rollout)) return { problem: 'nothing-to-promote' };
      return rollout.promoted ? null : { ...rollout, promoted: true };
  }
}

const TOLD = { pause: 'paused', resume: 'goes on', promote: 'promoted' } as const;

async function steer(
  tx: Runner,
  { id, rollout, nowMs }: Stands,
  { kind, actor }: { readonly kind: 'pause' | 'resume' | 'promote'; readonly actor: string },
): Promise<DeploymentProblem | null> {
  if (rollout === null) return { problem: 'no-rollout' };
  const next = changed(rollout, kind, nowMs);
  if (next === null) return null;
  if ('problem' in next) return next;
  await tx.run(sql`UPDATE deployments SET rollout = ${json(next)}::jsonb WHERE id = ${id}`);
  const message = `the rollout to revision ${rollout.target} ${kind === 'resume' ? '' : 'is '}${TOLD[kind]}, by hand`;
  await recordDeploymentEvent(tx, { deploymentId: id, kind: 'rollout', message, data: { step: rollout.step }, actor });
  await markChanged(tx, id);
  return null;
}

export const rolloutChange = (
  tx: Runner,
  reference: string,
  { change, actor }: { readonly change: Change; readonly actor: string },
): Promise<Deployment | DeploymentProblem> =>
  changeOpen(tx, reference, async (deploymentId) => {
    const stands = await readStands(tx, deploymentId);
    if (stands === undefined) return { problem: 'missing' };
    return change.kind === 'undo'
      ? undo(tx, stands, { toRevision: change.toRevision, actor })
      : steer(tx, stands, { kind: change.kind, actor });
  });
