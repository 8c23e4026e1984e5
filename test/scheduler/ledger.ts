import { expect } from 'vitest';
import type { Plan } from '../../src/contract/plan.js';
import { QUOTA_SLOTS } from '../../src/contract/quota.js';
import type { Snapshot, SnapshotNode, SnapshotPending, SnapshotQuota } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, snapshot } from './build.js';

interface Running {
  readonly session: SnapshotPending;
  readonly placed: Plan['placed'][number];
}

/** A ledger in memory that applies plans and refuses, by itself, whatever would be promised twice. */
export class TinyLedger {
  readonly running: Running[] = [];
  pending: SnapshotPending[] = [];
  nodes: SnapshotNode[];

  constructor(
    nodes: readonly SnapshotNode[],
    readonly quotas: readonly SnapshotQuota[],
    readonly policy: Snapshot['group']['policy'],
  ) {
    this.nodes = nodes.map((node) => ({
      ...node,
      used: { cpuMilli: 0, memoryBytes: 0 },
      devices: node.devices.map((device) => ({ ...device, heldBy: null })),
    }));
  }

  private heldOn(name: string) {
    return this.running.flatMap(({ placed }) => placed.kernels.filter(({ node }) => node === name));
  }

  snapshot(): Snapshot {
    const nodes = this.nodes.map((node) => {
      const kernels = this.heldOn(node.name);
      const sum = (slot: 'cpuMilli' | 'memoryBytes'): number =>
        kernels.reduce((total, kernel) => total + kernel.slots[slot], 0);
      const devices = node.devices.map((device) => {
        const holder = kernels.find(({ deviceIds }) => deviceIds.includes(device.id));
        return { ...device, heldBy: holder?.kernelId ?? null };
      });
      return { ...node, used: { cpuMilli: sum('cpuMilli'), memoryBytes: sum('memoryBytes') }, devices };
    });
    const quotas = this.quotas.map((quota) => ({ ...quota, held: this.heldUnder(quota) }));
    return snapshot({ nodes, quotas, pending: this.pending, policy: this.policy });
  }

  private heldUnder({ scope, id }: SnapshotQuota): SnapshotQuota['held'] {
    const mine = this.running.filter(({ session }) => session[`${scope}Id`] === id);
    const sum = (slot: 'cpuMilli' | 'memoryBytes' | 'gpuCount' | 'gpuMemoryBytes'): number =>
      mine.flatMap(({ session }) => session.kernels).reduce((total, kernel) => total + kernel.slots[slot], 0);
    return {
      cpuMilli: sum('cpuMilli'),
      memoryBytes: sum('memoryBytes'),
      gpuCount: sum('gpuCount'),
      gpuMemoryBytes: sum('gpuMemoryBytes'),
      sessions: mine.length,
    };
  }

  /** Plans, applies, and checks each promise against what there is. */
  pass(): void {
    const before = this.snapshot();
    const plan = planPass(before, NOW);
    for (const placed of plan.placed) {
      const session = this.pending.find(({ id }) => id === placed.sessionId) as SnapshotPending;
      this.pending = this.pending.filter(({ id }) => id !== placed.sessionId);
      this.running.push({ session, placed });
      this.checkPlacement(session, placed, before);
    }
    if (plan.placed.length > 0)
      this.checkTotals(new Set(plan.placed.flatMap(({ kernels }) => kernels.map(({ node }) => node))));
    this.checkQuotas(plan);
  }

  private checkPlacement(session: SnapshotPending, placed: Plan['placed'][number], before: Snapshot): void {
    expect(placed.kernels.map(({ kernelId }) => kernelId)).toEqual(session.kernels.map(({ id }) => id));
    if (session.clusterMode === 'single-node') expect(new Set(placed.kernels.map(({ node }) => node)).size).toBe(1);
    for (const [k, kernel] of placed.kernels.entries()) {
      const node = before.nodes.find(({ name }) => name === kernel.node) as SnapshotNode;
      expect(node.state).toBe('READY');
      if (session.architecture !== null) expect(node.architecture).toBe(session.architecture);
      expect(kernel.slots).toEqual(session.kernels[k]?.slots);
      expect(kernel.deviceIds).toHaveLength(kernel.slots.gpuCount);
      for (const id of kernel.deviceIds) {
        const device = node.devices.find((each) => each.id === id);
        expect(device).toMatchObject({
          healthy: true,
          heldBy: null,
          ...(session.gpuModel !== null && { model: session.gpuModel }),
        });
      }
    }
  }

  /** Of the nodes that the pass placed on: one that shrank meanwhile may be over, but nothing is added to it. */
  private checkTotals(names: ReadonlySet<string>): void {
    for (const node of this.snapshot().nodes.filter(({ name }) => names.has(name))) {
      expect(node.used.cpuMilli).toBeLessThanOrEqual(node.capacity.cpuMilli);
      expect(node.used.memoryBytes).toBeLessThanOrEqual(node.capacity.memoryBytes);
      const ids = this.heldOn(node.name).flatMap(({ deviceIds }) => deviceIds);
      expect(new Set(ids).size).toBe(ids.length);
    }
  }

  private checkQuotas(plan: Plan): void {
    const owners = this.running.filter(({ placed }) => plan.placed.includes(placed)).map(({ session }) => session);
    for (const quota of this.quotas.filter(({ scope, id }) => owners.some((owner) => owner[`${scope}Id`] === id))) {
      const held = this.heldUnder(quota);
      for (const slot of QUOTA_SLOTS)
        expect(held[slot]).toBeLessThanOrEqual(quota.limits[slot] ?? Number.POSITIVE_INFINITY);
    }
  }
}
