import type { NodeReport } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import type { Database, Runner } from '../database.js';
import { sql } from '../sql.js';
import type { NodeStore } from '../store.js';
import { drain, setCordon } from './drain.js';
import { launchOrder } from './launch-order.js';
import { health, markHealthy, markUnhealthy } from './marks.js';
import { cancelMove, completeMoves, setMove } from './moves.js';
import { raiseGeneration } from './raise-generation.js';
import { listNodes, readNode } from './read-node.js';
import { reconcile } from './reconcile.js';
import { register } from './register.js';
import { applyReport, type ReportResult } from './report.js';
import { failLost, markLost, silent } from './silence.js';

/** A node that was removed comes back under its name with its epochs going on. */
async function create(tx: Runner, node: Parameters<NodeStore['create']>[0]): ReturnType<NodeStore['create']> {
  const group = await tx.first(sql`SELECT 1 FROM resource_groups WHERE name = ${node.group}`);
  if (group === undefined) return 'no-group';
  const made = await tx.run(sql`
    INSERT INTO nodes (name, group_name, zone, token_hash) VALUES (${node.name}, ${node.group}, ${node.zone}, ${node.tokenHash})
    ON CONFLICT (name) DO UPDATE SET group_name = excluded.group_name, zone = excluded.zone, token_hash = excluded.token_hash,
      reconciled = false, cordoned = false, cordon_reason = NULL, drain_since = NULL, drain_deadline = NULL, drain_reason = NULL,
      drain_actor = NULL, drain_move = NULL, drained_at = NULL, unhealthy_reason = NULL, unhealthy_by = NULL, unhealthy_since = NULL,
      failed_starts = '[]', images = '[]', created_at = now(), last_seen_at = NULL, silent_since = NULL,
      lost_at = NULL, lost_reason = NULL, removed_at = NULL
    WHERE nodes.removed_at IS NOT NULL`);
  if (made === 0) return 'exists';
  await raiseGeneration(tx, node.group);
  await tx.run(sql`INSERT INTO node_use (node) VALUES (${node.name}) ON CONFLICT DO NOTHING`);
  return 'created';
}

async function remove(tx: Runner, name: string): ReturnType<NodeStore['remove']> {
  const node = await tx.first<{ group_name: string }>(
    sql`SELECT group_name FROM nodes WHERE name = ${name} AND removed_at IS NULL`,
  );
  if (node === undefined) return 'missing';
  await raiseGeneration(tx, node.group_name); // locks out a commit that would place here meanwhile
  const held = await tx.first(sql`SELECT 1 FROM reservations WHERE node = ${name} AND released_at IS NULL LIMIT 1`);
  if (held !== undefined) return 'held';
  await tx.run(sql`UPDATE nodes SET removed_at = now() WHERE name = ${name} AND removed_at IS NULL`);
  await tx.run(sql`DELETE FROM node_moves WHERE node = ${name}`);
  return 'removed';
}

/** Each report is a transaction of its own: one that is refused or fails holds up no other. */
async function reportAll(db: Database, name: string, reports: readonly NodeReport[]): Promise<readonly ReportResult[]> {
  const results: ReportResult[] = [];
  for (const report of reports) results.push(await db.transaction((tx) => applyReport(tx, name, report)));
  return results;
}

const SEEN = sql`last_seen_at = now(), silent_since = NULL`;

export function createNodeStore({ db, notifier }: StoreContext): NodeStore {
  const touch = async (name: string) => {
    await db.run(sql`UPDATE nodes SET ${SEEN} WHERE name = ${name}`);
  };
  return {
    create: (node) => db.transaction((tx) => create(tx, node)),
    authenticate: async (tokenHash) => {
      const row = await db.first<{ name: string }>(
        sql`SELECT name FROM nodes WHERE token_hash = ${tokenHash} AND removed_at IS NULL`,
      );
      return row ?? null;
    },
    register: (name, facts) => db.transaction((tx) => register(tx, name, facts)),
    reconcile: async (name, found) => {
      const result = await db.transaction((tx) => reconcile(tx, name, found));
      notifier.changed(result.signals.map((signal) => signal.sessionId));
      return result;
    },
    report: async (name, reports) => {
      const results = await reportAll(db, name, reports);
      notifier.changed(results.flatMap((result) => result.sessionId ?? []));
      return results;
    },
    launchOrder: (name, kernelId, attempt) =>
      db.transaction((tx) => launchOrder(tx, name, { id: kernelId, attempt }), 'snapshot'),
    list: (query) => listNodes(db, query),
    get: (name) => readNode(db, name),
    setCordon: (name, cordoned, reason) => db.transaction((tx) => setCordon(tx, name, { cordoned, reason })),
    drain: (name, how) => db.transaction((tx) => drain(tx, name, how)),
    markUnhealthy: (name, reason, by) => db.transaction((tx) => markUnhealthy(tx, name, { reason, by })),
    markHealthy: (name, by) => db.transaction((tx) => markHealthy(tx, name, by)),
    health: (name, report) => db.transaction((tx) => health(tx, name, report)),
    setMove: (name, move, actor) => db.transaction((tx) => setMove(tx, name, { ...move, actor })),
    cancelMove: (name) => db.transaction((tx) => cancelMove(tx, name)),
    completeMoves: (group) => db.transaction((tx) => completeMoves(tx, group)),
    remove: (name) => db.transaction((tx) => remove(tx, name)),
    touch,
    silent: async (name, limitMs) => {
      const verdict = await db.transaction((tx) => silent(tx, name, limitMs));
      if (verdict.verdict === 'lost') await db.transaction((tx) => markLost(tx, name, verdict.detail));
      return verdict;
    },
    failLost: async (name) => {
      const signals = await db.transaction((tx) => failLost(tx, name));
      notifier.changed(signals.map((signal) => signal.sessionId));
      return signals;
    },
  };
}
