import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PLACEMENTS } from '../../src/contract/group-policy.js';
import type { PlacedKernel } from '../../src/contract/plan.js';
import type { SnapshotNode, SnapshotPending } from '../../src/contract/snapshot.js';
import { demandOf } from '../../src/scheduler/demand.js';
import { deviceViewOf, nodeTable } from '../../src/scheduler/node-table.js';
import { place, unplace } from '../../src/scheduler/place.js';
import { type Ranking, rankingOf } from '../../src/scheduler/ranking.js';
import { copyOf, placedKernelsOf, roomIsFree, vacate } from '../../src/scheduler/rooms.js';
import { GIB, NOW, node, type SessionShape, session, share, slots, snapshot } from './build.js';
import { isFeasible, mayBeOn, type Rules } from './feasible.js';

const SHARINGS = ['mps', 'mps', 'memory-limit', 'mig', 'none'] as const;

const anyDevice = fc.record({
  model: fc.constantFrom('t4', 't4', 'h200'),
  gib: fc.constantFrom(8, 10, 12, 16, 24),
  sharing: fc.constantFrom(...SHARINGS),
  healthy: fc.constantFrom(true, true, true, true, false),
  /** Of its memory, in eighths; 8 is held whole. */
  taken: fc.constantFrom(0, 0, 0, 2, 4, 8),
});
type DeviceShape = typeof anyDevice extends fc.Arbitrary<infer Shape> ? Shape : never;
const deviceOf = (id: string, { gib, taken, ...rest }: DeviceShape): SnapshotNode['devices'][number] => ({
  id,
  ...rest,
  memoryBytes: gib * GIB,
  simulated: true,
  parentId: null,
  heldBy: taken === 8 && rest.sharing !== 'mig' ? 'krn_other' : null,
  shares: taken === 0 || taken === 8 ? [] : [{ kernelId: 'krn_other', memoryBytes: (gib * GIB * taken) / 8 }],
});
const anyNode = (i: number): fc.Arbitrary<SnapshotNode> =>
  fc
    .record({
      cpu: fc.integer({ min: 1, max: 6 }),
      gib: fc.integer({ min: 2, max: 12 }),
      devices: fc.array(anyDevice, { maxLength: 3 }),
      zone: fc.constantFrom(null, 'z1', 'z2'),
      state: fc.constantFrom('READY', 'READY', 'READY', 'READY', 'READY', 'DRAINING', 'UNHEALTHY'),
      moves: fc.constantFrom(null, null, null, 30),
    })
    .map(({ devices, moves, ...shape }) => ({
      ...node(`n${i}`, shape),
      devices: devices.map((device, d) => deviceOf(`n${i}-${d}`, device)),
      moveAt: moves === null ? null : new Date(Date.parse(NOW) + moves * 1000).toISOString(),
    }));
const anyNodes = fc
  .integer({ min: 1, max: 3 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, i) => anyNode(i))));

const anyKernel = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 1, max: 2 }))
    .map(([cpu, gpus]) => slots(cpu / 2, 1, gpus)),
  fc.constantFrom(2, 4, 5, 6, 8, 10, 12, 13).map(share),
  fc.integer({ min: 1, max: 4 }).map((cpu) => slots(cpu, 1)),
);
const anySession = (n: number): fc.Arbitrary<SnapshotPending> =>
  fc
    .record({
      kernels: fc.array(anyKernel, { minLength: 1, maxLength: 4 }),
      clusterMode: fc.constantFrom('single-node' as const, 'multi-node' as const),
      gpuModel: fc.constantFrom(null, null, 't4'),
      minRuntimeSeconds: fc.constantFrom(0, 60),
      avoid: fc.constantFrom<string[]>([], [], ['n0']),
      wishes: fc
        .record({
          nodes: fc.constantFrom([], [], ['n0'], ['n1', 'n2']),
          nodesRequired: fc.boolean(),
          zone: fc.constantFrom(null, null, 'z1'),
          zoneRequired: fc.boolean(),
          spread: fc.constantFrom('none' as const, 'spread' as const, 'pack' as const),
          replicaGroup: fc.constantFrom(null, 'llm'),
        })
        .map((wishes) => ({ ...wishes, nodesRequired: wishes.nodesRequired && wishes.nodes.length > 0 })),
    })
    .map((shape) => session(n, shape as unknown as SessionShape));

const anyCase = fc.record({
  nodes: anyNodes,
  sessions: fc.tuple(anySession(1), anySession(2), anySession(3)),
  placement: fc.constantFrom(...PLACEMENTS),
  allowUnenforcedSharing: fc.boolean(),
});

/** The nodes with what was placed on them, as the ledger would read them back. */
function booked(nodes: readonly SnapshotNode[], kernels: readonly PlacedKernel[]): SnapshotNode[] {
  return nodes.map((each) => {
    const here = kernels.filter(({ node: name }) => name === each.name);
    const sum = (slot: 'cpuMilli' | 'memoryBytes') =>
      here.reduce((total, { slots: amounts }) => total + amounts[slot], each.used[slot]);
    return {
      ...each,
      used: { cpuMilli: sum('cpuMilli'), memoryBytes: sum('memoryBytes') },
      devices: each.devices.map((device) => {
        const users = here.filter(({ deviceIds }) => deviceIds.includes(device.id));
        const whole = users.find(({ slots: amounts }) => amounts.gpuCount > 0);
        const shares = users
          .filter((user) => user !== whole)
          .map(({ kernelId, slots: { gpuMemoryBytes } }) => ({ kernelId, memoryBytes: gpuMemoryBytes }));
        return { ...device, heldBy: whole?.kernelId ?? device.heldBy, shares: [...device.shares, ...shares] };
      }),
    };
  });
}

/** Nothing is promised twice, device by device. */
function checkBooks(
  nodes: readonly SnapshotNode[],
  { allowUnenforcedSharing }: Rules,
  added: readonly PlacedKernel[],
): void {
  for (const each of nodes) {
    expect(each.used.cpuMilli).toBeLessThanOrEqual(each.capacity.cpuMilli);
    expect(each.used.memoryBytes).toBeLessThanOrEqual(each.capacity.memoryBytes);
    for (const { id, heldBy, shares, memoryBytes, sharing, healthy } of each.devices) {
      expect(shares.length === 0 || heldBy === null).toBe(true);
      expect(shares.reduce((sum, held) => sum + held.memoryBytes, 0)).toBeLessThanOrEqual(memoryBytes);
      const mine = added.filter(({ deviceIds }) => deviceIds.includes(id));
      if (mine.length === 0) continue;
      expect(healthy).toBe(true);
      if (sharing === 'mig') expect(mine.map(({ slots: { gpuMemoryBytes } }) => gpuMemoryBytes)).toEqual([memoryBytes]);
      if (sharing === 'none' && !allowUnenforcedSharing) expect(mine[0]?.slots.gpuCount).toBeGreaterThan(0);
      if (mine.some(({ slots: { gpuCount } }) => gpuCount > 0)) expect(mine).toHaveLength(1);
    }
  }
}

function checkPlaced(
  asked: SnapshotPending,
  kernels: readonly PlacedKernel[],
  { nodes, rules }: { readonly nodes: readonly SnapshotNode[]; readonly rules: Rules },
): void {
  if (asked.clusterMode === 'single-node') expect(new Set(kernels.map(({ node: name }) => name)).size).toBe(1);
  for (const [k, { node: name, deviceIds, slots: given }] of kernels.entries()) {
    const on = nodes.find((each) => each.name === name) as SnapshotNode;
    const wanted = asked.kernels[k]?.slots as typeof given;
    expect(on.state).toBe('READY');
    expect(mayBeOn(asked, on, rules)).toBe(true);
    expect(given).toEqual({ ...wanted, gpuMemoryBytes: given.gpuMemoryBytes });
    expect(given.gpuMemoryBytes).toBeGreaterThanOrEqual(wanted.gpuMemoryBytes);
    expect(deviceIds).toHaveLength(wanted.gpuMemoryBytes > 0 ? 1 : wanted.gpuCount);
    for (const id of deviceIds)
      expect(asked.gpuModel ?? on.devices.find((each) => each.id === id)?.model).toBe(
        on.devices.find((each) => each.id === id)?.model,
      );
  }
}

const amounts = ({ table }: Ranking) =>
  structuredClone([
    table.cpuMilli,
    table.memoryBytes,
    table.gpuCount,
    table.gpuMemoryBytes,
    table.devices.leftBytes,
    [...table.views].map(([, view]) => [view.whole, view.share]),
  ]);

test('room is found if and only if there is some, device by device, and nothing is promised twice', () => {
  let placedCount = 0;
  let refusedCount = 0;
  fc.assert(
    fc.property(anyCase, ({ nodes, sessions, placement, allowUnenforcedSharing }) => {
      const rules: Rules = { allowUnenforcedSharing, atMs: Date.parse(NOW) };
      const policy = { ...snapshot({ nodes, pending: [] }).group.policy, placement };
      const ranking = rankingOf(nodeTable(nodes, 'now', rules), policy, rules);
      deviceViewOf(ranking.table, 't4');
      let books: readonly SnapshotNode[] = nodes;
      for (const asked of sessions) {
        const demand = demandOf(asked);
        const before = amounts(ranking);
        const attempt = place(ranking, demand);
        const others = books.filter(({ name }) => !asked.avoid.includes(name));
        const emptied = others.map((each) => ({
          ...each,
          used: { cpuMilli: 0, memoryBytes: 0 },
          devices: each.devices.map((device) => ({ ...device, heldBy: null, shares: [] })),
        }));
        const tried = asked.avoid.length > 0 && isFeasible(asked, emptied, rules) ? others : books;
        expect(typeof attempt !== 'string').toBe(isFeasible(asked, tried, rules));
        if (typeof attempt === 'string') {
          expect(amounts(ranking)).toEqual(before);
          refusedCount += 1;
          continue;
        }
        placedCount += 1;
        const kernels = placedKernelsOf(
          ranking.table,
          asked.kernels.map(({ id, slots: each }) => ({ kernelId: id, slots: each })),
          attempt,
        );
        checkPlaced(asked, kernels, { nodes, rules });
        books = booked(books, kernels);
        checkBooks(books, rules, kernels);

        const back = copyOf(ranking);
        for (const room of kernels) vacate(back, room);
        for (const room of kernels) expect(roomIsFree(back.table, room)).toBe(true);
        unplace(ranking, demand, attempt);
        expect(amounts(ranking)).toEqual(amounts(back));
        expect(place(ranking, demand)).toEqual(attempt);
        expect(amounts(rankingOf(nodeTable(books, 'now', rules), policy))[4]).toEqual(amounts(ranking)[4]);
      }
    }),
    { numRuns: 500 },
  );
  expect(placedCount).toBeGreaterThan(150);
  expect(refusedCount).toBeGreaterThan(150);
});
