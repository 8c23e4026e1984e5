import { expect, test } from 'vitest';
import { workerArguments } from '../../src/cli/supervisor/programs.js';

const heapOf = (args: readonly string[]) => args.filter((arg) => arg.includes('max-old-space-size'));

test('the heap of a control worker is limited, unless NODE_OPTIONS names one; the other processes have what Node gives', () => {
  expect(heapOf(workerArguments('control', {}))).toEqual(['--max-old-space-size=1024']);
  expect(heapOf(workerArguments('control', { NODE_OPTIONS: '--max-old-space-size=4096' }))).toEqual([]);
  expect(heapOf(workerArguments('api', {}))).toEqual([]);
  expect(workerArguments('gateway', {}).at(-1)).toMatch(/dist\/workers\/gateway\.js$/);
});
