import { expect, test } from 'vitest';
import { repositoryOf } from '../../src/docker/images.js';
import { afterLine, type Layers, type PullLine, progressOf } from '../../src/docker/pull-progress.js';

const downloading = (id: string, current: number, total: number): PullLine => ({
  id,
  status: 'Downloading',
  progressDetail: { current, total },
});
const line = (id: string, status: string): PullLine => ({ id, status });
const after = (lines: readonly PullLine[]) => progressOf(lines.reduce(afterLine, new Map() as Layers));

const cases: readonly [title: string, lines: readonly PullLine[], want: readonly number[]][] = [
  ['nothing yet', [], [0, 0, 0, 0]],
  ['lines that are about no layer', [line('latest', 'Pulling from a/b'), { status: 'Digest: sha256:1' }], [0, 0, 0, 0]],
  ['layers that wait', [line('a', 'Pulling fs layer'), line('b', 'Waiting')], [0, 0, 0, 2]],
  [
    'the sum over layers',
    [downloading('a', 10, 100), downloading('b', 5, 50), downloading('a', 20, 100)],
    [25, 150, 0, 2],
  ],
  [
    'a layer that is whole but not unpacked',
    [downloading('a', 10, 100), line('a', 'Download complete')],
    [100, 100, 0, 1],
  ],
  [
    'no byte twice while it unpacks',
    [downloading('a', 100, 100), { ...downloading('a', 3, 100), status: 'Extracting' }],
    [100, 100, 0, 1],
  ],
  [
    'layers that are done or were there',
    [downloading('a', 9, 100), line('a', 'Pull complete'), line('b', 'Already exists')],
    [100, 100, 2, 2],
  ],
];
for (const [title, lines, want] of cases) {
  test(`progress tells ${title}`, () => {
    const { currentBytes, totalBytes, layersDone, layers } = after(lines);
    expect([currentBytes, totalBytes, layersDone, layers]).toEqual(want);
  });
}

test.each([
  ['busybox', 'busybox'],
  ['a/b:1', 'a/b'],
  ['host:5000/a', 'host:5000/a'],
  ['host:5000/a:1', 'host:5000/a'],
  ['host:5000/a:1@sha256:00', 'host:5000/a'],
  ['a@sha256:00', 'a'],
])('the repository of %s is %s', (reference, want) => expect(repositoryOf(reference)).toBe(want));
