import type { NodeReport } from '../../contract/index.js';
import type { StoreContext } from '../context.js';
import type { Database, Runner } from '../database.js';
import { sql } from '../sql.js';
import type { NodeStore } from '../store.js';
import { launchOrder } from './launch-order.js';
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
      state = 'REGISTERED', cordoned = false, state_reason = NULL, created_at = now(), last_seen_at = NULL, silent_since = NULL,
      lost_at = NULL, removed_at = NULL
    WHERE nodes.removed_at IS NOT NULL`);
  if (made === 0) return 'exists';
  await raiseGeneration(tx, node.group);
  await tx.run(sql`INSERT INTO node_use (node) VALUES (${node.name}) ON CONFLICT DO NOTHING`);
  return 'created';
}

async function setCordon(
  tx: Runner,
  name: string,
  { cordoned, reason }: { readonly cordoned: boolean; readonly reason: string },
) {
  const node = await tx.first<{ group_name: string; cordoned: boolean }>(
    sql`SELECT group_name, cordoned FROM nodes WHERE name = ${name} AND removed_at IS NULL`,
  );
  if (node === undefined) return null;
  if (node.cordoned !== cordoned) {
    await raiseGeneration(tx, node.group_name);
    await tx.run(sql`
      UPDATE nodes SET cordoned = ${cordoned}, state_reason = ${cordoned ? reason : null},
        state = CASE WHEN state IN ('READY', 'CORDONED') THEN ${cordoned ? 'CORDONED' : 'READY'} ELSE state END
      WHERE name = ${name}`);
  }
  return readNode(tx, name);
}

async function remove(tx: Runner, name: string): ReturnType<NodeStore['remove']> {
  const node = await tx.first<{ group_name: string }>(
    sql`SELECT group_name FROM nodes WHERE name = ${name} AND removed_at IS NULL`,
  );
  if (node === undefined) return 'missing';
  await raiseGeneration(tx, node.group_name); // locks out a commit that would place here meanwhile
  const held = await tx.first(sql`SELECT 1 FROM reservations WHERE node = ${name} AND released_at IS NULL LIMIT 1`);
  if (held !== undefined) return 'held';
  await tx.run(
    sql`UPDATE nodes SET removed_at = now(), state_reason = NULL WHERE name = ${name} AND removed_at IS NULL`,
  );
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
      return results.map(({ sessionId: _, ...result }) => result);
    },
    launchOrder: (name, kernelId, attempt) =>
      db.transaction((tx) => launchOrder(tx, name, { id: kernelId, attempt }), 'snapshot'),
    list: (query) => listNodes(db, query),
    get: (name) => readNode(db, name),
    setCordon: (name, cordoned, reason) => db.transaction((tx) => setCordon(tx, name, { cordoned, reason })),
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
