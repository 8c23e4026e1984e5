import { expect, test } from 'vitest';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { unitOf } from '../../src/scheduler/demand.js';
import { deviceViewOf, nodeTable } from '../../src/scheduler/node-table.js';
import { extraKinds, giveBack, rankedLists, rankingOf, take } from '../../src/scheduler/ranking.js';
import { node, slots, snapshot } from './build.js';

const ranking = (nodes: readonly SnapshotNode[], placement: 'dispersed' | 'concentrated') =>
  rankingOf(nodeTable(nodes, 'now'), { ...snapshot({ nodes: [], pending: [] }).group.policy, placement });

const four = [node('a', { cpu: 4 }), node('b', { cpu: 16 }), node('c', { cpu: 8 }), node('d', { cpu: 8 })];
const names = (made: ReturnType<typeof ranking>) =>
  rankedLists(made).map(({ nodes }) => [...nodes].map((i) => made.table.nodes[i]?.name).join(''));

test('dispersed ranks by most left, concentrated by least left, both break ties by name', () => {
  expect(names(ranking(four, 'dispersed'))).toEqual(['bcda']);
  expect(names(ranking(four, 'concentrated'))).toEqual(['acdb']);
});

test('a node moves to its place when something is taken from it, and back', () => {
  const made = ranking(four, 'dispersed');
  rankedLists(made);
  const kernel = { slots: slots(10, 1), gpuModel: null };
  take(made, 1, kernel);
  expect(names(made)).toEqual(['cdba']);
  giveBack(made, 1, { slots: kernel.slots, devices: [] });
  expect(names(made)).toEqual(['bcda']);
});

test('slots are compared left to right: one more GPU beats any CPU', () => {
  const made = ranking([node('a', { cpu: 64, gpus: 1 }), node('b', { cpu: 1, gpus: 2 })], 'dispersed');
  expect(names(made)).toEqual(['ba']);
});

test('a node without devices left still has the kind', () => {
  const { table } = ranking([node('gpu', { gpus: 1, held: 1 })], 'dispersed');
  expect(extraKinds(table.kinds[0] as number, unitOf(slots(1, 1)))).toBe(1);
  expect(extraKinds(table.kinds[0] as number, unitOf(slots(1, 1, 1)))).toBe(0);
});

test('devices are taken by index among the free, healthy ones of the model, and given back exactly', () => {
  const made = ranking([node('a', { models: ['t4', 'h200', 't4', 'h200'], held: 1 })], 'dispersed');
  const { table } = made;
  const ofModel = deviceViewOf(table, 'h200').whole;
  const kernel = { slots: slots(1, 1, 1), gpuModel: 'h200' };
  expect(take(made, 0, kernel)).toEqual([1]);
  expect(take(made, 0, { ...kernel, gpuModel: null })).toEqual([2]);
  expect([table.gpuCount[0], ofModel[0], deviceViewOf(table, 't4').whole[0]]).toEqual([1, 1, 0]);
  giveBack(made, 0, { slots: kernel.slots, devices: [1] });
  giveBack(made, 0, { slots: kernel.slots, devices: [2] });
  expect(table).toMatchObject({ cpuMilli: Float64Array.of(64_000), gpuCount: Float64Array.of(3) });
  expect([ofModel[0], deviceViewOf(table, 't4').whole[0]]).toEqual([2, 1]);
});
