import { expect, test } from 'vitest';
import { giveBackAll } from '../../src/scheduler/assignment.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { canPlace, place } from '../../src/scheduler/place.js';
import { rankingOf } from '../../src/scheduler/ranking.js';
import { node, type SessionShape, session, slots, snapshot } from './build.js';

const nodes = [node('a', { gpus: 2 }), node('b', { gpus: 1 })];
const ranking = () => rankingOf(nodeTable(nodes, 'now'), snapshot({ nodes, pending: [] }).group.policy);
const amounts = ({ table }: ReturnType<typeof ranking>) => [
  [...table.cpuMilli],
  [...table.memoryBytes],
  [...table.gpuCount],
  [...table.gpuMemoryBytes],
];
const three = [slots(1, 1, 1), slots(1, 1, 1), slots(1, 1, 1)];

const cases: [title: string, asked: SessionShape, fits: boolean][] = [
  ['one kernel', { kernels: [slots(1, 1, 2)] }, true],
  ['more than one node has', { kernels: three }, false],
  ['kernels anywhere', { kernels: three, clusterMode: 'multi-node' }, true],
  ['kernels anywhere, one too many', { kernels: [...three, slots(1, 1, 1)], clusterMode: 'multi-node' }, false],
];
test.each(cases)('%s: fits %s, a question takes nothing, and giving back restores all', (_title, asked, fits) => {
  const made = ranking();
  const before = amounts(made);
  const demand = demandOf(session(1, asked));
  expect(canPlace(made, demand)).toBe(fits);
  expect(amounts(made)).toEqual(before);
  const attempt = place(made, demand);
  expect(typeof attempt === 'string').toBe(!fits);
  if (typeof attempt === 'string') return;
  expect(amounts(made)).not.toEqual(before);
  giveBackAll(made, demand, attempt);
  expect(amounts(made)).toEqual(before);
});
