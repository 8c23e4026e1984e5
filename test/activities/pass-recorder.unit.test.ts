import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { planSchema, snapshotSchema } from '../../src/contract/index.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { createPassRecorder } from '../../workers/pass-recorder.js';
import * as build from '../scheduler/build.js';

test('recorded passes are a line each in the file of their group, across workers, and each plans to the same again', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-passes-'));
  try {
    const snapshot = build.snapshot({ nodes: [build.node('n1')], pending: [build.session(1), build.session(2)] });
    const now = snapshot.takenAt;
    for (let worker = 0; worker < 2; worker += 1) {
      const record = await createPassRecorder(join(directory, 'deep', 'er'));
      await record({ now, snapshot, plan: planPass(snapshot, now) });
    }
    const text = await readFile(join(directory, 'deep', 'er', `${snapshot.group.name}.jsonl`), 'utf8');
    const lines = text.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    for (const line of lines) {
      const pass = JSON.parse(line) as Record<string, unknown>;
      expect(pass['schema']).toBe('berth.pass/1');
      const replayed = planPass(snapshotSchema.parse(pass['snapshot']), String(pass['now']));
      expect(planSchema.parse(pass['plan'])).toEqual(planSchema.parse(replayed));
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
