import type { Node, NodeHealthReport } from '../../contract/index.js';
import type { Runner } from '../database.js';
import { json, sql } from '../sql.js';
import { changeNode } from './change-node.js';
import { raiseGeneration } from './raise-generation.js';

const CHECK = 'check';
const NO_MARK = sql`unhealthy_reason = NULL, unhealthy_since = NULL, unhealthy_by = NULL,
  drained_at = CASE WHEN drain_since IS NULL THEN NULL ELSE drained_at END`;

/** By hand it replaces a mark by a check; a check replaces only its own. */
export async function markUnhealthy(tx: Runner, name: string, mark: Mark): Promise<Node | null> {
  const by = mark.by === CHECK ? CHECK : 'hand';
  const changed = await changeNode(tx, name, {
    set: sql`unhealthy_reason = ${mark.reason}, unhealthy_by = ${by}, unhealthy_since = coalesce(unhealthy_since, now())`,
    unless: sql`(unhealthy_by = 'hand' AND ${by}::text <> 'hand') OR (unhealthy_by = ${by} AND unhealthy_reason = ${mark.reason})`,
  });
  return changed?.node ?? null;
}
interface Mark {
  readonly reason: string;
  /** `check`, or the person. */
  readonly by: string;
}

/** By hand whatever mark there is; a check that passes takes away only a check's. */
export async function markHealthy(tx: Runner, name: string, by: string): Promise<Node | null> {
  const isNone = sql`unhealthy_reason IS NULL`;
  const changed = await changeNode(tx, name, {
    set: NO_MARK,
    unless: by === CHECK ? sql`${isNone} OR unhealthy_by <> 'check'` : isNone,
  });
  return changed?.node ?? null;
}

/** A device that a report called broken is well when a later one does not; what registration called broken stays so. */
async function writeDevices(tx: Runner, name: string, report: NodeHealthReport): Promise<number> {
  const broken = json(report.unhealthyDevices);
  return tx.run(sql`
    WITH told AS (SELECT b.id, b.reason FROM jsonb_to_recordset(${broken}::jsonb) AS b(id text, reason text))
    UPDATE devices d SET healthy = t.id IS NULL, unhealthy_reason = t.reason
    FROM devices o LEFT JOIN told t ON t.id = o.id
    WHERE o.node = ${name} AND d.node = o.node AND d.id = o.id
      AND ((t.id IS NULL AND d.unhealthy_reason IS NOT NULL) OR (t.id IS NOT NULL AND d.unhealthy_reason IS DISTINCT FROM t.reason))`);
}

/** Whether the report says something of devices or images that is not known. */
const differences = (tx: Runner, name: string, report: NodeHealthReport) =>
  tx.first<{ group_name: string; devices: boolean; images: boolean }>(sql`
    SELECT n.group_name, n.images <> ${json(report.images)}::jsonb AS images, EXISTS (
      SELECT 1 FROM devices d LEFT JOIN jsonb_to_recordset(${json(report.unhealthyDevices)}::jsonb) AS b(id text, reason text) ON b.id = d.id
      WHERE d.node = n.name AND ((b.id IS NULL AND d.unhealthy_reason IS NOT NULL)
        OR (b.id IS NOT NULL AND d.unhealthy_reason IS DISTINCT FROM b.reason))) AS devices
    FROM nodes n WHERE n.name = ${name} AND n.removed_at IS NULL`);

/**
 * The generation is raised only where something changed that a plan rests on: devices and the mark. Images are a tie-break:
 * what is cached of the nodes is read again, and no plan is refused for them.
 */
export async function health(
  tx: Runner,
  name: string,
  report: NodeHealthReport,
): Promise<{ readonly changed: boolean }> {
  const differ = await differences(tx, name, report);
  if (differ === undefined) return { changed: false };
  if (differ.devices) {
    await raiseGeneration(tx, differ.group_name);
    await writeDevices(tx, name, report);
  }
  if (differ.images) {
    await tx.run(sql`UPDATE resource_groups SET nodes_version = nodes_version + 1 WHERE name = ${differ.group_name}`);
    await tx.run(sql`UPDATE nodes SET images = ${json(report.images)}::jsonb WHERE name = ${name}`);
  }
  const before = await tx.first<{ state: string }>(sql`SELECT state FROM nodes WHERE name = ${name}`);
  const node = report.healthy
    ? await markHealthy(tx, name, CHECK)
    : await markUnhealthy(tx, name, { reason: report.reason || 'its check failed', by: CHECK });
  await tx.run(sql`UPDATE nodes SET last_seen_at = now(), silent_since = NULL WHERE name = ${name}`);
  return { changed: differ.devices || node?.state !== before?.state };
}
