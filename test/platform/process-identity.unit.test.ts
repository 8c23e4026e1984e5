import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { commandLine, identify, isRunning, signal, waitForEnd } from '../../src/platform/process-identity.js';

test('a process is known by pid and start, and its end is seen', async () => {
  const child = spawn(process.execPath, ['-e', 'setInterval(() => 0, 1000)', 'a b']);
  await once(child, 'spawn');
  const identity = identify(child.pid ?? 0);
  if (identity === undefined) throw new Error('not found');
  expect(isRunning(identity)).toBe(true);
  expect(commandLine(identity.pid)).toContain('a b');
  expect(isRunning({ ...identity, startTicks: identity.startTicks - 1 })).toBe(false); // a reused pid
  signal({ ...identity, startTicks: 1 }, 'SIGKILL'); // not that process: nothing is sent
  expect(await waitForEnd(identity, 0.1)).toBe(false);
  signal(identity, 'SIGKILL');
  expect(await waitForEnd(identity, 5)).toBe(true);
  signal(identity, 'SIGKILL'); // already gone is success
});
