import { expect, test } from 'vitest';
import { heapArguments } from '../../src/cli/supervisor/programs.js';

test('the heap of a control worker is limited, unless NODE_OPTIONS names one; the other processes have what Node gives', () => {
  expect(heapArguments('control', {})).toEqual(['--max-old-space-size=1024']);
  expect(heapArguments('control', { NODE_OPTIONS: '--max-old-space-size=4096' })).toEqual([]);
  expect(heapArguments('api', {})).toEqual([]);
});
