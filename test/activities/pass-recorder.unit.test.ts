import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { replay, replayText } from '../../src/cli/simulate/replay.js';
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

test('a line that a killed worker did not end stays alone: the passes after it are read', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'berth-passes-'));
  try {
    const snapshot = build.snapshot({ nodes: [build.node('n1')], pending: [build.session(1)] });
    const file = join(directory, `${snapshot.group.name}.jsonl`);
    await writeFile(file, '{"schema":"berth.pass/1","now":"20');
    const record = await createPassRecorder(directory);
    for (let n = 0; n < 2; n += 1)
      await record({ now: snapshot.takenAt, snapshot, plan: planPass(snapshot, snapshot.takenAt) });
    const read = await replay(file);
    expect(read).toEqual({ passes: 2, cut: 1, difference: null });
    expect(replayText(read)).toBe('2 passes, same decisions; 1 line that breaks off was left out');
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});
