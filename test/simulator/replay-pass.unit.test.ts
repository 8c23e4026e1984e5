import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { replay, replayText } from '../../src/cli/simulate/replay.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import * as build from '../scheduler/build.js';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-replay-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const file = async (...lines: readonly string[]): Promise<string> => {
  await writeFile(join(folder, 'passes.jsonl'), `${lines.join('\n')}\n`);
  return join(folder, 'passes.jsonl');
};
const passOf = (sessions: number): Record<string, unknown> => {
  const pending = Array.from({ length: sessions }, (_, k) => build.session(k + 1));
  const snapshot = build.snapshot({ nodes: [build.node('n1')], pending });
  const now = snapshot.takenAt;
  return { schema: 'berth.pass/1', now, snapshot, plan: planPass(snapshot, now) };
};

describe('recorded passes', () => {
  test('plan to the same decisions', async () => {
    const path = await file(...[1, 2, 30].map((many) => JSON.stringify(passOf(many))));
    const replayed = await replay(path);
    expect(replayed).toEqual({ passes: 3, difference: null });
    expect(replayText(replayed)).toBe('3 passes, same decisions');
  });

  test('that differ are told by the first one, with the place in the plan', async () => {
    const changed = JSON.parse(JSON.stringify(passOf(2))) as { plan: { placed: { kernels: { node: string }[] }[] } };
    const kernel = changed.plan.placed[1]?.kernels[0];
    if (kernel !== undefined) kernel.node = 'n2';
    const path = await file(JSON.stringify(passOf(1)), JSON.stringify(changed), JSON.stringify(changed));
    const replayed = await replay(path);
    expect(replayed).toMatchObject({
      passes: 2,
      difference: { line: 2, at: 'placed.1.kernels.0.node', recorded: 'n2', replayed: 'n1' },
    });
    expect(replayText(replayed)).toMatch(
      /^pass 2 \(line 2, .*\) differs at placed\.1\.kernels\.0\.node:\n {2}recorded "n2"/,
    );
  });

  test.each([
    ['{', /passes\.jsonl: line 1 is not JSON/],
    ['{"schema":"berth.pass/2"}', /passes\.jsonl: line 1 is no recorded pass: schema/],
    ['', /passes\.jsonl holds no pass/],
  ])('of which a line is %j are refused', async (line, message) => {
    await expect(replay(await file(line))).rejects.toThrow(message);
  });
});
