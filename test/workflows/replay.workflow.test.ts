import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import '../support/quiet-temporal.js';
import { bundleWorkflowCode, DefaultLogger, Worker } from '@temporalio/worker';
import { beforeAll, describe, expect, test } from 'vitest';

/** A session that began under older code goes on under this one: each recorded history replays without a difference. */
const FOLDER = join(import.meta.dirname, 'histories');
const histories = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));

let workflowBundle: { code: string };
beforeAll(async () => {
  const workflowsPath = join(import.meta.dirname, '..', '..', 'workflows', 'index.ts');
  workflowBundle = await bundleWorkflowCode({ workflowsPath, logger: new DefaultLogger('ERROR') });
});

describe('recorded histories', () => {
  test('stand for every workflow', () => {
    for (const kind of ['session', 'group', 'node', 'warm', 'pool', 'model', 'deployment'])
      expect(histories.some((file) => file.startsWith(kind))).toBe(true);
  });

  test.each(histories)('%s replays', async (file) => {
    const history: unknown = JSON.parse(readFileSync(join(FOLDER, file), 'utf8'));
    await Worker.runReplayHistory({ workflowBundle }, history, `${file.split('-')[0]}/replayed`);
  });

  test('a history that does not fit is noticed', async () => {
    const text = readFileSync(join(FOLDER, 'session-succeeds.json'), 'utf8').replaceAll(
      '"markRunning"',
      '"somethingElse"',
    );
    await expect(
      Worker.runReplayHistory({ workflowBundle }, JSON.parse(text) as never, 'session/replayed'),
    ).rejects.toThrow();
  });
});
