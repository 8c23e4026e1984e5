import type { Runner } from '../database.js';
import type { DeploymentSnapshot, DeploymentTurn } from '../deployment-store.js';
import { json, sql } from '../sql.js';
import { KEPT, recordDeploymentEvent } from './deployment-events.js';
import { refreshState } from './refresh-state.js';
import { closeEnded, forgetUnsubmitted, makeReplicas, type SealApiKey, writeDrains } from './write-replicas.js';

export interface Decided {
  readonly snapshot: DeploymentSnapshot;
  readonly turn: DeploymentTurn;
  readonly sealApiKey: SealApiKey;
}

async function writeFailures(tx: Runner, { id }: DeploymentSnapshot, { failures }: DeploymentTurn): Promise<void> {
  const rows = Object.entries(failures).map(([revision, { inARow, lastMs }]) => ({
    revision: Number(revision),
    inARow,
    lastMs: inARow === 0 ? null : lastMs,
  }));
  await tx.run(sql`
    UPDATE deployment_revisions v SET failures = f."inARow", last_failure_at = to_timestamp(f."lastMs" / 1000)
    FROM jsonb_to_recordset(${json(rows)}::jsonb) AS f(revision int, "inARow" int, "lastMs" float8)
    WHERE v.deployment_id = ${id} AND v.revision = f.revision AND (v.failures, v.last_failure_at) IS DISTINCT FROM (f."inARow", to_timestamp(f."lastMs" / 1000)::timestamptz(3))`);
}

/** The revision that is good from now on, and what became of the one that was rolled out. */
async function writeVerdict(
  tx: Runner,
  { id, rollout }: DeploymentSnapshot,
  { verdict }: DeploymentTurn,
): Promise<void> {
  if (verdict === null || rollout === null) return;
  const isDone = verdict.kind === 'done';
  const good = isDone ? rollout.target : rollout.from;
  await tx.run(
    sql`UPDATE deployments SET current_revision = coalesce(${good}::int, current_revision) WHERE id = ${id}`,
  );
  await tx.run(sql`
    UPDATE deployment_revisions SET good_at = CASE WHEN ${isDone} THEN now() ELSE good_at END,
      failed_message = CASE WHEN ${isDone} THEN NULL ELSE ${verdict.because}::text END
    WHERE deployment_id = ${id} AND revision = ${rollout.target}`);
}

async function writeDecision(tx: Runner, { id }: DeploymentSnapshot, { decision }: DeploymentTurn): Promise<void> {
  if (decision === null) return;
  await tx.run(
    sql`INSERT INTO deployment_decisions (deployment_id, at, decision) VALUES (${id}, ${decision.at}::timestamptz, ${json(decision)}::jsonb)`,
  );
  await tx.run(sql`
    DELETE FROM deployment_decisions WHERE deployment_id = ${id} AND id <= (
      SELECT id FROM deployment_decisions WHERE deployment_id = ${id} ORDER BY id DESC OFFSET ${KEPT}::int LIMIT 1)`);
}

const orNull = (value: unknown): string | null => (value === null ? null : json(value));

/** A rollout that ended, or was never under way, has no beginning. One that ends takes no new count and no rollout. */
async function writeDeployment(tx: Runner, { snapshot, turn }: Decided): Promise<void> {
  const rollout = snapshot.isEnding ? null : turn.rollout;
  const fired = turn.fired === null ? {} : { [turn.fired]: snapshot.nowMs };
  await tx.run(sql`
    UPDATE deployments SET wanted = CASE WHEN ending_at IS NULL THEN ${turn.wanted}::int ELSE wanted END, rollout = ${orNull(rollout)}::jsonb,
      rollout_started_at = CASE WHEN ${rollout !== null} THEN coalesce(rollout_started_at, now()) END,
      rollout_message = ${turn.rolloutMessage}, weights = ${json(turn.weights)}::jsonb, fired = fired || ${json(fired)}::jsonb,
      last_decision = coalesce(${orNull(turn.decision)}::jsonb, last_decision),
      wake_asked_at = CASE WHEN ${turn.clearWake} THEN NULL ELSE wake_asked_at END,
      retry_at = to_timestamp(${turn.retryMs}::float8 / 1000), turned_at = clock_timestamp(), turned_changes = changes
    WHERE id = ${snapshot.id}`);
}

/** Over once its last replica is. */
const endEmpty = (tx: Runner, { id }: DeploymentSnapshot): Promise<number> =>
  tx.run(sql`
    UPDATE deployments d SET ended_at = now(), weights = '[]', wake_asked_at = NULL, retry_at = NULL
    WHERE d.id = ${id} AND d.ending_at IS NOT NULL AND d.ended_at IS NULL
      AND NOT EXISTS (SELECT 1 FROM deployment_replicas r WHERE r.deployment_id = d.id AND r.closed_at IS NULL)`);

/**
 * All of a turn in one transaction, under the lock that was taken before its snapshot. Run again on what it left, it finds
 * nothing to write but the moment of the turn.
 */
export async function commitTurn(tx: Runner, decided: Decided): Promise<'lives' | 'ended'> {
  const { snapshot, turn, sealApiKey } = decided;
  const { id, isEnding } = snapshot;
  await closeEnded(tx, snapshot);
  await writeFailures(tx, snapshot, turn);
  await writeDrains(tx, turn);
  if (!isEnding) await makeReplicas(tx, snapshot, { create: turn.create, sealApiKey });
  await forgetUnsubmitted(tx, id);
  await writeVerdict(tx, snapshot, turn);
  await writeDecision(tx, snapshot, turn);
  await writeDeployment(tx, decided);
  for (const event of turn.events) await recordDeploymentEvent(tx, { ...event, deploymentId: id, actor: 'berth' });
  const hasEnded = (await endEmpty(tx, snapshot)) > 0;
  await refreshState(tx, id);
  return hasEnded ? 'ended' : 'lives';
}
