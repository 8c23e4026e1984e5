import pg from 'pg';
import { expect } from 'vitest';
import type { Berth } from './berth.js';
import { containersOf, engineOf } from './engine-of.js';

const SETTLE_SECONDS = 90;

/** Two holds of one device whose times overlap, ever; and releases that a node never confirmed. */
async function historyOf(databaseUrl: string): Promise<{ overlaps: number; owed: number }> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  try {
    const { rows } = await client.query<{ overlaps: number; owed: number }>(`
      SELECT (SELECT count(*) FROM device_holds a JOIN device_holds b
          ON a.node = b.node AND a.device_id = b.device_id AND a.id < b.id
          AND a.created_at < coalesce(b.released_at, 'infinity') AND b.created_at < coalesce(a.released_at, 'infinity')
        )::int AS overlaps,
        (SELECT count(*) FROM reservations WHERE released_at IS NOT NULL AND NOT node_released)::int AS owed`);
    return rows[0] ?? { overlaps: -1, owed: -1 };
  } finally {
    await client.end();
  }
}

/** What is left over now; empty when nothing is. */
async function leftOf(berth: Berth): Promise<Record<string, unknown>> {
  const [open, nodes, audit, containers, networks, past, claims] = await Promise.all([
    berth.client.sessions.list({ open: true }).toArray(),
    Promise.all(berth.nodes.map((name) => berth.client.nodes.get(name))),
    berth.store.control.audit(),
    containersOf(berth),
    Promise.all(berth.nodes.map((name) => engineOf(berth).listNetworks({ 'berth.node': name }))),
    historyOf(berth.databaseUrl),
    berth.client.models.list().toArray(),
  ]);
  const left = {
    modelClaims: claims.map(({ modelName, phase }) => `${modelName} ${phase}`),
    openSessions: open.map(({ id, state }) => `${id} ${state}`),
    nodeState: nodes
      .filter(({ state }) => state !== 'READY')
      .map((one) => `${one.name} ${one.state} ${one.stateReason}`),
    used: nodes.flatMap(({ used }) => Object.entries(used)).filter(([, amount]) => amount !== 0),
    devicesHeld: nodes.flatMap(({ devices }) => devices.filter(({ heldBy }) => heldBy !== null).map(({ id }) => id)),
    brokenInvariants: Object.entries(audit).filter(([, count]) => count !== 0),
    containers: containers.map(({ name }) => name),
    networks: networks.flat().map(({ name }) => name),
    devicesHeldTwiceEver: past.overlaps === 0 ? [] : [past.overlaps],
    releasesOwedByTheNode: past.owed === 0 ? [] : [past.owed],
  };
  return Object.fromEntries(Object.entries(left).filter(([, found]) => found.length > 0));
}

/** Soon after a case: no open session, no claim of a model, nothing reserved, a sound ledger, no container, no device ever held twice. */
export async function closingCheck(berth: Berth): Promise<void> {
  const deadline = performance.now() + SETTLE_SECONDS * 1000;
  let left = await leftOf(berth);
  while (Object.keys(left).length > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 250));
    left = await leftOf(berth);
  }
  expect(left).toEqual({});
}
