import { expect, test } from 'vitest';
import { giveBackAll, takeAll } from '../../src/scheduler/assignment.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { nodeTable } from '../../src/scheduler/node-table.js';
import { rankingOf } from '../../src/scheduler/ranking.js';
import { node, session, slots, snapshot } from './build.js';

const nodes = [node('a', { gpus: 3 })];
const demand = demandOf(session(1, { kernels: [slots(1, 1, 1), slots(1, 1, 2)] }));
const ranking = () => rankingOf(nodeTable(nodes, 'now'), snapshot({ nodes, pending: [] }).group.policy);

test('no device goes to two kernels', () => {
  expect(takeAll(ranking(), demand, [0, 0]).devicesOfKernel).toEqual([[0], [1, 2]]);
});

test('the first kernels alone can be given back', () => {
  const made = ranking();
  const { devicesOfKernel } = takeAll(made, demand, [0, 0]);
  giveBackAll(made, demand, { nodeOfKernel: [0], devicesOfKernel: devicesOfKernel.slice(0, 1) });
  expect([made.table.gpuCount[0], made.table.cpuMilli[0]]).toEqual([1, 63_000]);
});
