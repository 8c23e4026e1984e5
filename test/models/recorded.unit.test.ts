import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { vllm } from '../../src/engines/vllm.js';
import { recorded, recordedNames } from './recorded.js';

const textOf = (name: string): string => recorded(name).response.text;

describe('the adapter reads what the real vLLM 0.32 answered', () => {
  it.each([
    ['metrics-idle', { running: 0, waiting: 0, completed: 0 }],
    ['metrics-busy', { running: 2, waiting: 2 }],
    ['metrics-asleep', { running: 0, waiting: 0 }],
    ['metrics-asked-asleep', { running: 0, waiting: 0 }],
  ])('%s', (name, load) => {
    expect(vllm.readLoad(textOf(name))).toMatchObject(load);
  });

  it('aborts of a sleep count as requests that ended', () => {
    const before = vllm.readLoad(textOf('metrics-busy'))?.completed ?? 0;
    expect(vllm.readLoad(textOf('metrics-asked-asleep'))?.completed).toBe(before + 4);
  });

  it.each([
    ['is-sleeping', false],
    ['is-sleeping-asleep', true],
    ['is-sleeping-awake', false],
    ['health', undefined],
  ])('%s', (name, isSleeping) => {
    expect(vllm.readSleeping(textOf(name))).toBe(isSleeping);
  });
});

it('recordings hold no ids, times or paths of the machine that they were made on', () => {
  const folder = join(import.meta.dirname, 'recorded', 'vllm-0.32.0');
  const all = readdirSync(folder).map((file) => readFileSync(join(folder, file), 'utf8'));
  expect(recordedNames.length).toBeGreaterThan(30);
  expect(
    all.filter((text) =>
      /"\/|\\"\/(root|home|tmp|work)|created\\":[1-9]|cmpl-[0-9a-f]{8}/.test(text.replace(/"path": "[^"]*"/, '')),
    ),
  ).toEqual([]);
});
