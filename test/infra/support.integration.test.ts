import { spawnSync } from 'node:child_process';
import pg from 'pg';
import { afterAll, describe, expect, test } from 'vitest';
import { engine } from '../../infra/setup/docker.mjs';
import { ensureTestDocker, listContainers, removeContainers, uniqueLabel } from '../support/docker.js';
import { createDatabase, startTestPostgres } from '../support/postgres.js';
import { startTestTemporal } from '../support/temporal.js';

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query(sql);
  await client.end();
  return rows;
}

describe('a test Postgres', () => {
  test('keeps committed rows across a restart and a kill -9', async () => {
    const server = await startTestPostgres();
    try {
      await query(server.url, 'CREATE TABLE t (n int); INSERT INTO t VALUES (1)');
      await server.restart();
      await query(server.url, 'INSERT INTO t VALUES (2)');
      await server.kill();
      await server.start();
      expect(await query(server.url, 'SELECT n FROM t ORDER BY n')).toEqual([{ n: 1 }, { n: 2 }]);
    } finally {
      await server.stop();
    }
  });

  test('gives each caller an empty database', async () => {
    const [one, two] = [await createDatabase(), await createDatabase()];
    await query(one, 'CREATE TABLE t (n int)');
    await expect(query(two, 'SELECT * FROM t')).rejects.toThrow('does not exist');
  });
});

describe('a test Temporal', () => {
  test('registers the search attributes and keeps them on a file across a kill -9', async () => {
    const server = await startTestTemporal({ onFile: true, searchAttributes: { BerthProbe: 'Keyword' } });
    const list = () =>
      spawnSync(server.program, ['operator', 'search-attribute', 'list', '--address', server.address], {
        encoding: 'utf8',
      }).stdout;
    try {
      expect(list()).toContain('BerthProbe');
      await server.kill();
      await server.start();
      expect(list()).toContain('BerthProbe');
    } finally {
      await server.stop();
    }
  });
});

describe('a test engine', () => {
  const label = uniqueLabel('berth-support');
  afterAll(() => removeContainers(`${label}=`));

  test('runs a real Python and a shell, and finds its own containers by label', async () => {
    const images = await ensureTestDocker();
    const commands: [string, string[]][] = [
      [images.python, ['python3', '-c', 'print(6 * 7)']],
      [images.busybox, ['sh', '-c', 'expr 6 \\* 7']],
    ];
    for (const [image, command] of commands) {
      const body = JSON.stringify({ Image: image, Cmd: command, Labels: { [label]: 'x' } });
      const { Id: id } = JSON.parse((await engine('POST', '/containers/create', { body })).text) as { Id: string };
      await engine('POST', `/containers/${id}/start`);
      await engine('POST', `/containers/${id}/wait`);
      expect((await engine('GET', `/containers/${id}/logs?stdout=true`)).text).toContain('42');
    }
    expect(await listContainers(`${label}=`)).toHaveLength(2);
    expect(await removeContainers(`${label}=`)).toBe(2);
    expect(await listContainers(`${label}=`)).toEqual([]);
  });
});
