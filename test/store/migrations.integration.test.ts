import pg from 'pg';
import { expect, test } from 'vitest';
import { createSessionSchema, groupPolicySchema } from '../../src/contract/index.js';
import { tenancy } from '../../src/store/migrations/0001-tenancy.js';
import { nodes } from '../../src/store/migrations/0002-nodes.js';
import { sessions } from '../../src/store/migrations/0003-sessions.js';
import { ledger } from '../../src/store/migrations/0004-ledger.js';
import { scheduling } from '../../src/store/migrations/0005-scheduling.js';
import { lives } from '../../src/store/migrations/0006-lives.js';
import { usage } from '../../src/store/migrations/0008-usage.js';
import { createDatabase } from '../support/postgres.js';

/** As the version before wrote them. */
const SPEC = {
  kind: 'batch',
  group: 'default',
  image: 'python:3.12',
  command: [],
  environment: {},
  kernels: [
    { role: 'main', count: 1, slots: { cpuMilli: 1000, memoryBytes: 2 ** 30, gpuCount: 1, gpuMemoryBytes: 0 } },
  ],
  clusterMode: 'single-node',
  priority: 30,
  mounts: [],
  ports: [],
  startDeadlineSeconds: 7200,
  minRuntimeSeconds: 0.5,
  gracePeriodSeconds: 3,
  failurePolicy: 'strict',
  labels: {},
};
const POLICY = {
  order: 'fifo',
  placement: 'concentrated',
  slotOrder: ['gpuCount'],
  paused: true,
  lostAfterSeconds: 60,
};

const BEFORE = `
INSERT INTO domains (id, name) VALUES ('dom', 'default');
INSERT INTO projects (id, name, domain_id) VALUES ('prj', 'default', 'dom');
INSERT INTO users (id, name, domain_id, role) VALUES ('usr', 'admin', 'dom', 'operator');
INSERT INTO nodes (name, group_name, token_hash, state, cordoned, state_reason, lost_at, cpu_milli) VALUES
  ('a', 'default', '\\x01', 'READY', false, NULL, NULL, 4000), ('b', 'default', '\\x02', 'CORDONED', true, 'a fan', NULL, 4000),
  ('c', 'default', '\\x03', 'LOST', true, 'no sign', now(), 4000), ('d', 'default', '\\x04', 'REGISTERED', false, NULL, NULL, 0);
INSERT INTO node_use (node, cpu_milli_used, cpu_milli_limit, gpu_count_used, gpu_count_limit) VALUES ('a', 1000, 4000, 1, 1);
INSERT INTO devices (node, id, device_index, model, memory_bytes, simulated, healthy) VALUES ('a', 'gpu-0', 0, 'm', 1000, true, true);
INSERT INTO kernels (id, session_id, role, group_role, rank, hostname, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes)
  VALUES ('krn', 'ses', 'main', 'main', 0, 'main', 1000, 1, 1, 0);
INSERT INTO reservations (kernel_id, attempt, session_id, user_id, project_id, domain_id, node, epoch, cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes)
  VALUES ('krn', 1, 'ses', 'usr', 'prj', 'dom', 'a', 1, 1000, 0, 1, 0);
INSERT INTO device_holds (reservation_id, node, device_id, session_id, kernel_id, attempt) SELECT id, 'a', 'gpu-0', 'ses', 'krn', 1 FROM reservations;
`;

test('a ledger of the version before goes on: policies and requests are whole, nodes are what they were, devices are held', async () => {
  const client = new pg.Client({ connectionString: await createDatabase() });
  await client.connect();
  try {
    for (const text of [tenancy, nodes, sessions, ledger]) await client.query(text);
    await client.query('INSERT INTO resource_groups (name, policy) VALUES ($1, $2)', [
      'default',
      JSON.stringify(POLICY),
    ]);
    await client.query('ALTER TABLE kernels DISABLE TRIGGER ALL');
    await client.query(BEFORE);
    await client.query(
      `INSERT INTO sessions (id, name, kind, state, attempt, user_id, project_id, domain_id, group_name, spec, cluster_mode, priority,
         cpu_milli, memory_bytes, gpu_count, gpu_memory_bytes, submitted_at)
       VALUES ('ses', 's', 'batch', 'RUNNING', 1, 'usr', 'prj', 'dom', 'default', $1, 'single-node', 20, 1000, 1, 1, 0, now())`,
      [JSON.stringify(SPEC)],
    );
    for (const text of [scheduling, lives, usage]) await client.query(text);
    const first = async (text: string) => (await client.query<Record<string, unknown>>(text)).rows[0] ?? {};

    const { policy } = await first('SELECT policy FROM resource_groups');
    expect(groupPolicySchema.parse(policy)).toEqual(policy);
    expect(policy).toEqual(groupPolicySchema.parse(POLICY));
    const { spec, ...row } = await first(
      'SELECT spec, base_priority, min_runtime_ms::int, grace_ms::int, max_runtime_ms, preemptible, starts_at, wishes FROM sessions',
    );
    expect(spec).toEqual(createSessionSchema.parse(SPEC));
    expect(row).toMatchObject({
      base_priority: 30,
      min_runtime_ms: 500,
      grace_ms: 3000,
      max_runtime_ms: null,
      preemptible: true,
    });
    const shown = await client.query<{ name: string; state: string; state_reason: string | null }>(
      'UPDATE nodes SET cordoned = cordoned RETURNING name, state, state_reason',
    );
    expect(shown.rows.map((node) => [node.name, node.state, node.state_reason]).toSorted()).toEqual([
      ['a', 'READY', null],
      ['b', 'CORDONED', 'a fan'],
      ['c', 'LOST', 'no sign'],
      ['d', 'REGISTERED', null],
    ]);
    expect(await first('SELECT node, device_id, whole, shares FROM device_use')).toEqual({
      node: 'a',
      device_id: 'gpu-0',
      whole: 1,
      shares: 0,
    });
  } finally {
    await client.end();
  }
});
