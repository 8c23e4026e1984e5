import { expect, test } from 'vitest';
import { runProgram } from '../../src/devices/run-program.js';

test('an exit code is an answer', async () => {
  const script = 'process.stdout.write("out"); process.stderr.write("err"); process.exit(9)';
  expect(await runProgram(process.execPath, ['-e', script])).toEqual({ exitCode: 9, stdout: 'out', stderr: 'err' });
});

test('a program that is not there is told apart from one that fails', async () => {
  expect(await runProgram('no-such-program-at-all', [])).toBe('no-such-program');
});
