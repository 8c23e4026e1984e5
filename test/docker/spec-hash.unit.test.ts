import { expect, test } from 'vitest';
import { specHash } from '../../src/docker/spec-hash.js';
import { spec } from './spec.js';

test('the order of environment variables does not matter', () => {
  expect(specHash(spec({ environment: { A: '1', B: '2' } }))).toBe(specHash(spec({ environment: { B: '2', A: '1' } })));
});

test.each([
  ['the command', { command: ['sleep', '61'] }],
  ['the order of the arguments', { command: ['60', 'sleep'] }],
  ['one value of the environment', { environment: { A: '1' } }],
  ['a limit', { memoryBytes: 1 }],
  ['a label', { labels: { 'berth.attempt': '2' } }],
])('%s matters', (_title, changed) => {
  expect(specHash(spec(changed))).not.toBe(specHash(spec()));
});

test('an environment value cannot be read from it', () => {
  expect(specHash(spec({ environment: { KEY: 'hunter2' } }))).toMatch(/^[0-9a-f]{64}$/);
});
