import { expect, test } from 'vitest';
import { demandOf, KIND, kernelClasses, kindsOf, shapeKey, unitOf, unitsOf } from '../../src/scheduler/demand.js';
import { GIB, type SessionShape, session, slots } from './build.js';

const demand = (shape: SessionShape) => demandOf(session(1, shape));

test('the total is the exact sum over the kernels', () => {
  const { total } = demand({ kernels: [slots(0.001, 1, 1), slots(0.002, 2, 3)] });
  expect(total).toMatchObject({
    cpuMilli: 3,
    memoryBytes: 3 * GIB,
    gpuCount: 4,
    kinds: KIND.cpu | KIND.memory | KIND.gpu,
  });
});

test('a device model binds only who asks for devices', () => {
  expect(demand({ gpuModel: 'H200' }).gpuModel).toBeNull();
  expect(demand({ gpuModel: 'H200', kernels: [slots(1, 1, 1)] }).gpuModel).toBe('H200');
});

test.each([
  ['single-node', 2, false],
  ['multi-node', 2, true],
  ['multi-node', 1, false],
] as const)('%s with %d kernels: may spread is %s', (clusterMode, count, spread) =>
  expect(demand({ clusterMode, kernels: new Array(count).fill(slots(1, 1)) }).spread).toBe(spread),
);

test('kernels that ask the same are one class, the rarest class first', () => {
  const classes = kernelClasses(demand({ kernels: [slots(1, 1), slots(2, 2, 1), slots(1, 1), slots(4, 1)] }));
  expect(classes.map(({ members }) => members)).toEqual([[1], [3], [0, 2]]);
});

test('one node holds the sum, unless the kernels may spread', () => {
  const kernels = [slots(1, 1), slots(2, 2)];
  expect(unitsOf(demand({ kernels })).map(({ cpuMilli }) => cpuMilli)).toEqual([3000]);
  expect(unitsOf(demand({ kernels, clusterMode: 'multi-node' })).map(({ cpuMilli }) => cpuMilli)).toEqual([2000, 1000]);
});

test('a device and its memory are one kind', () => {
  expect(kindsOf(1, 1, 0)).toBe(KIND.cpu | KIND.memory);
  expect(unitOf(slots(0, 0, 1)).kinds).toBe(KIND.gpu);
});

test('requests that nodes cannot tell apart share a shape; others do not', () => {
  const shapes: SessionShape[] = [
    {},
    { architecture: 'arm64' },
    { kernels: [slots(2, 1)] },
    { kernels: [slots(1, 1, 1)] },
    { kernels: [slots(1, 1, 1)], gpuModel: 'H200' },
    { kernels: [slots(1, 1), slots(1, 1)], clusterMode: 'multi-node' },
    { kernels: [{ ...slots(1, 1), gpuMemoryBytes: GIB }] },
  ];
  const keys = shapes.map((shape) => shapeKey(demand(shape)));
  expect(new Set(keys).size).toBe(shapes.length);
  expect(shapeKey(demand({ userId: 'usr_bob', priority: 20 }))).toBe(keys[0]);
});
