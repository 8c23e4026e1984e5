import type { RolloutStrategy } from '../../contract/index.js';
import type { Rollout, Strategy } from '../../deployments/rollout.js';
import type { Runner } from '../database.js';
import { ms } from '../models/sql-words.js';
import { json, sql } from '../sql.js';
import { recordDeploymentEvent } from './deployment-events.js';
import { strategyOf } from './strategy-of.js';

export interface NewRollout {
  readonly target: number;
  readonly because: string;
  readonly actor: string;
}

interface Ground {
  readonly current: number | null;
  readonly rollout: Rollout | null;
  readonly strategy: RolloutStrategy;
  /** Replicas of the target of the rollout that goes on serve. */
  readonly targetServes: boolean;
  readonly nowMs: number;
}

const readGround = (tx: Runner, deploymentId: string): Promise<Ground | undefined> =>
  tx.first<Ground>(sql`
    SELECT d.current_revision AS current, d.rollout, d.strategy, ${ms(sql`clock_timestamp()`)} AS "nowMs",
      EXISTS (SELECT 1 FROM deployment_places p WHERE p.deployment_id = d.id AND p.closed_at IS NULL
        AND p.revision = (d.rollout->>'target')::int AND p.route = 'ACTIVE' AND p.health IN ('healthy', 'degraded')) AS "targetServes"
    FROM deployments d WHERE d.id = ${deploymentId}`);

/** Gradual, whatever the strategy: who goes back to the good revision keeps what serves until that does. */
const GOING_BACK: Strategy = { kind: 'rolling', surge: { percent: 25 }, unavailable: { count: 0 } };

/** From the last good revision; before there was one, from whatever serves. Back to the good one: from what is given up. */
function fromOf({ current, rollout, targetServes }: Ground, target: number): number | null {
  const given = rollout?.target ?? null;
  if (target === current) return given;
  if (current !== null) return current;
  return targetServes && given !== target ? given : null;
}

/**
 * In the place of the one that goes on. To the revision that a rollout goes to already, or that is current and not being left,
 * it does nothing and answers false.
 */
export async function startRollout(
  tx: Runner,
  deploymentId: string,
  { target, because, actor }: NewRollout,
): Promise<boolean> {
  const ground = await readGround(tx, deploymentId);
  if (ground === undefined || target === (ground.rollout?.target ?? ground.current)) return false;
  const from = fromOf(ground, target);
  const rollout: Rollout = {
    from,
    target,
    strategy: target === ground.current ? GOING_BACK : strategyOf(ground.strategy),
    step: 0,
    readySinceMs: null,
    served: 0,
    progressMs: ground.nowMs,
    promoted: false,
    paused: false,
  };
  await tx.run(sql`
    UPDATE deployments SET rollout = ${json(rollout)}::jsonb, rollout_started_at = now(), rollout_message = ${because},
      applied_revision = ${target}, retry_at = NULL WHERE id = ${deploymentId}`);
  await tx.run(sql`
    UPDATE deployment_revisions SET failures = 0, last_failure_at = NULL, failed_message = NULL
    WHERE deployment_id = ${deploymentId} AND revision = ${target}`);
  const way = from === null ? `to revision ${target}` : `revision ${from} → ${target}`;
  await recordDeploymentEvent(tx, {
    deploymentId,
    kind: 'rollout',
    message: `${way}: ${because}`,
    data: { from, target },
    actor,
  });
  return true;
}
