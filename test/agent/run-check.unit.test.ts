import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { runCheck } from '../../src/agent/run-check.js';
import { eventually } from '../support/process.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'berth-check-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const shell = (script: string, timeoutSeconds = 10) => ({ command: ['sh', '-c', script], timeoutSeconds });

const cases: [title: string, check: Parameters<typeof runCheck>[0], want: string | undefined][] = [
  ['passes with 0, whatever it says', shell('echo all well >&2'), undefined],
  ['fails with its code and its last line', shell('echo a; echo disk full >&2; exit 3'), 'sh exited with 3: disk full'],
  ['fails by a signal', shell('kill -9 $$'), 'sh was ended by SIGKILL: '],
  ['that is not there fails', { command: ['/no/such'], timeoutSeconds: 1 }, '/no/such cannot be run: ENOENT'],
  ['is not a shell line', { command: ['sh -c true'], timeoutSeconds: 1 }, 'sh -c true cannot be run: ENOENT'],
  ['that left something behind is not waited for', shell('sleep 30 & exit 0'), undefined],
];
for (const [title, check, want] of cases) {
  test(`a check ${title}`, async () => expect(await runCheck(check)).toBe(want));
}

test('a check that takes too long is killed, with all that it started', async () => {
  const file = join(dir, 'pid');
  const script = `sleep 300 & echo $! > ${file}; wait`;
  expect(await runCheck(shell(script, 0.5))).toBe('sh took longer than 0.5 s');
  const pid = Number(readFileSync(file, 'utf8'));
  await eventually('it is gone', () => !isAlive(pid));
});

test('a check does not see what the agent knows', async () => {
  process.env['BERTH_NODE_TOKEN'] = 'a-secret';
  expect(await runCheck(shell('echo "[$BERTH_NODE_TOKEN]"; exit 1'))).toBe('sh exited with 1: []');
  delete process.env['BERTH_NODE_TOKEN'];
});

/** A zombie that nobody has waited for is gone for all that matters. */
function isAlive(pid: number): boolean {
  try {
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
