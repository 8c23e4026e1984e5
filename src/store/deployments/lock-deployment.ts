import { advisoryKey, type Runner } from '../database.js';
import { type Sql, sql } from '../sql.js';

/** Of `d`, a row of deployments: by its id, or by its name. */
export const isNamed = (reference: string): Sql => sql`(d.id = ${reference} OR d.name = ${reference})`;

export interface LockedDeployment {
  readonly id: string;
  readonly isEnding: boolean;
}

/**
 * The one lock of a deployment: turns, the owner's changes and wakes take it before they read. By id, or by name among those
 * that have not ended; undefined where there is none.
 */
export const lockDeployment = (tx: Runner, reference: string): Promise<LockedDeployment | undefined> =>
  tx.first<LockedDeployment>(sql`
    SELECT d.id, d.ending_at IS NOT NULL AS "isEnding" FROM deployments d
    WHERE ${isNamed(reference)} AND d.ended_at IS NULL FOR NO KEY UPDATE`);

/** Two who make the same deployment come one after the other. Taken before the row's lock, never after it. */
export const lockName = (tx: Runner, name: string): Promise<number> =>
  tx.run(sql`SELECT pg_advisory_xact_lock(${advisoryKey(`deployment:${name}`)})`);

/** A turn has to look: until one has, the sweeper asks for it. */
export const markChanged = (tx: Runner, deploymentId: string): Promise<number> =>
  tx.run(sql`UPDATE deployments SET changes = changes + 1, changed_at = now() WHERE id = ${deploymentId}`);
