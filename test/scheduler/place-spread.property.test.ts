import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Slots } from '../../src/contract/slots.js';
import type { SnapshotNode } from '../../src/contract/snapshot.js';
import { neverFits } from '../../src/scheduler/fits-ever.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { anyPolicy, anySlots } from './arbitrary.js';
import { NOW, node, session, snapshot } from './build.js';

const anyNode = (i: number) =>
  fc
    .record({
      cpu: fc.integer({ min: 1, max: 5 }),
      gib: fc.integer({ min: 1, max: 10 }),
      gpus: fc.integer({ min: 0, max: 4 }),
      zone: fc.constantFrom(null, 'z1', 'z2'),
    })
    .map((shape) => node(`n${i}`, shape));
const anyNodes = fc
  .integer({ min: 1, max: 4 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, i) => anyNode(i))));

/** Every kernel on every node. */
function bruteForce(kernels: readonly Slots[], nodes: readonly SnapshotNode[]): boolean {
  const free = nodes.map(({ capacity, devices }) => ({ ...capacity, gpuCount: devices.length }));
  const put = (k: number): boolean => {
    const kernel = kernels[k];
    if (kernel === undefined) return true;
    return free.some((room) => {
      if (room.cpuMilli < kernel.cpuMilli || room.memoryBytes < kernel.memoryBytes || room.gpuCount < kernel.gpuCount)
        return false;
      for (const slot of ['cpuMilli', 'memoryBytes', 'gpuCount'] as const) room[slot] -= kernel[slot];
      if (put(k + 1)) return true;
      for (const slot of ['cpuMilli', 'memoryBytes', 'gpuCount'] as const) room[slot] += kernel[slot];
      return false;
    });
  };
  return put(0);
}

test('a multi-node session is placed if and only if some assignment exists, on one node or in one zone where that is possible', () => {
  let placedCount = 0;
  fc.assert(
    fc.property(anyNodes, fc.array(anySlots, { minLength: 2, maxLength: 5 }), anyPolicy, (nodes, kernels, policy) => {
      const asked = session(1, { kernels, clusterMode: 'multi-node' });
      const plan = planPass(snapshot({ nodes, pending: [asked], policy: { ...policy, paused: false } }), NOW);
      const [placed] = plan.placed;
      expect(placed !== undefined).toBe(bruteForce(kernels, nodes));
      expect(neverFits(asked, nodes) === null).toBe(placed !== undefined);
      if (placed === undefined) return;
      placedCount += 1;
      const used = nodes.filter(({ name }) => placed.kernels.some((kernel) => kernel.node === name));
      if (nodes.some((each) => bruteForce(kernels, [each]))) expect(used).toHaveLength(1);
      else if (
        ['z1', 'z2'].some((zone) =>
          bruteForce(
            kernels,
            nodes.filter((each) => each.zone === zone),
          ),
        )
      )
        expect(new Set(used.map(({ zone }) => zone)).size).toBe(1);
    }),
    { numRuns: 800 },
  );
  expect(placedCount).toBeGreaterThan(100);
});
