import fc from 'fast-check';
import { expect, test } from 'vitest';
import { leavesOf } from '../../src/budgets/budget-tree.js';
import { claimsOf, sumsOver } from '../../src/budgets/claims.js';
import { FairShareQueue, type FairShareRequest } from '../../src/budgets/fair-share-queue.js';
import { plainOrder } from './plain-order.js';
import { node, treeOf } from './tree-of-the-spec.js';

/** Up to three levels, weights from 0. */
const tree = fc
  .array(fc.tuple(fc.integer({ min: 0, max: 100 }), fc.array(fc.integer({ min: 0, max: 100 }), { maxLength: 3 })), {
    minLength: 1,
    maxLength: 4,
  })
  .map((programs) =>
    treeOf([
      node('root', null, 1),
      ...programs.flatMap(([weight, projects], p) => [
        node(`p${p}`, 'root', weight),
        ...projects.map((own, k) => node(`p${p}k${k}`, `p${p}`, own)),
      ]),
    ]),
  );

const world = tree.chain((one) => {
  const leaves = leavesOf(one).map(({ id }) => id);
  const request = fc.record({
    budgetId: fc.option(fc.constantFrom(...leaves)),
    minRuntimeMs: fc.constantFrom(0, 10, 100),
    milliGpus: fc.integer({ min: 1, max: 8 }),
    priority: fc.integer({ min: 0, max: 3 }),
    submittedMs: fc.integer({ min: 0, max: 20 }),
    projectId: fc.constantFrom('x', 'y'),
  });
  return fc.record({
    tree: fc.constant(one),
    loads: fc
      .tuple(...leaves.map(() => fc.integer({ min: 0, max: 1000 })))
      .map((loads) => new Map(leaves.map((id, i) => [id, loads[i] ?? 0]))),
    pending: fc
      .array(request, { maxLength: 30 })
      .map((all) => all.map((each, i): FairShareRequest => ({ ...each, id: `r${String(i).padStart(3, '0')}` }))),
  });
});
type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

function orderOf({ tree: one, loads, pending }: World, isChosen: (id: string) => boolean = () => true): string[] {
  const queue = new FairShareQueue({ tree: one, loads, claims: claimsOf(one), unallocatedUse: new Map() }, pending);
  const ids: string[] = [];
  for (let next = queue.next(); next !== null; next = queue.next()) {
    queue.settle(next, isChosen(next.id) ? 'chosen' : 'passed');
    ids.push(next.id);
  }
  return ids;
}

test('the order of allocated work is that of comparing all siblings at each fork, whoever is chosen on the way', () => {
  fc.assert(
    fc.property(world, fc.uniqueArray(fc.integer({ min: 0, max: 30 })), (one, numbers) => {
      const chosen = new Set(numbers.map((n) => `r${String(n).padStart(3, '0')}`));
      const isChosen = (id: string): boolean => chosen.has(id);
      const order = plainOrder({ ...one, claims: claimsOf(one.tree) }, isChosen);
      expect(orderOf(one, isChosen).slice(0, order.length)).toEqual(order);
    }),
    { numRuns: 300 },
  );
});

test('everybody comes once, and unallocated work after all allocated work', () => {
  fc.assert(
    fc.property(world, (one) => {
      const order = orderOf(one);
      expect(order.toSorted()).toEqual(one.pending.map(({ id }) => id));
      const isFree = order
        .map((id) => one.pending.find((request) => request.id === id))
        .map((request) => request?.budgetId === null || request?.minRuntimeMs === 0);
      expect(isFree).toEqual(isFree.toSorted((a, b) => Number(a) - Number(b)));
    }),
  );
});

test('the order does not depend on how the requests are handed over', () => {
  fc.assert(
    fc.property(world, fc.infiniteStream(fc.nat()), (one, shuffle) => {
      const keyed = one.pending.map((request) => [shuffle.next().value as number, request] as const);
      const pending = keyed.toSorted(([a], [b]) => a - b).map(([, request]) => request);
      expect(orderOf({ ...one, pending })).toEqual(orderOf(one));
    }),
  );
});

test('one more second of use never brings a budget forward', () => {
  fc.assert(
    fc.property(world, fc.nat(), fc.integer({ min: 1, max: 500 }), (one, pick, more) => {
      const leaves = leavesOf(one.tree);
      const leaf = leaves[pick % leaves.length]?.id ?? '';
      const heavier = { ...one, loads: new Map(one.loads).set(leaf, (one.loads.get(leaf) ?? 0) + more) };
      const first = (order: readonly string[]) =>
        order.findIndex((id) =>
          one.pending.some((request) => request.id === id && request.budgetId === leaf && request.minRuntimeMs > 0),
        );
      expect(first(orderOf(heavier))).toBeGreaterThanOrEqual(first(orderOf(one)));
    }),
  );
});

test('claims of the leaves add up to 1, and sums add up at every node', () => {
  fc.assert(
    fc.property(world, ({ tree: one, loads }) => {
      const claims = claimsOf(one);
      const total = leavesOf(one).reduce((sum, { id }) => sum + (claims.get(id) ?? 0), 0);
      const everySiblingSetHasWeight = [...one.childrenOf.values()].every((children) =>
        children.some(({ weight }) => weight > 0),
      );
      if (everySiblingSetHasWeight) expect(total).toBeCloseTo(1, 9);
      const sums = sumsOver(one, loads);
      for (const [id, children] of one.childrenOf) {
        expect(sums.get(id)).toBe(children.reduce((sum, child) => sum + (sums.get(child.id) ?? 0), 0));
      }
    }),
  );
});
