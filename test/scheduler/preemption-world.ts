import { expect } from 'vitest';
import type { Plan, StopOrder } from '../../src/contract/plan.js';
import type {
  Snapshot,
  SnapshotHold,
  SnapshotNode,
  SnapshotPending,
  SnapshotRunning,
} from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { inQueueOrder } from '../../src/scheduler/queue-order.js';
import { NOW, snapshot } from './build.js';
import { booked } from './build-running.js';

/** Placed, and for whom somebody was told to end. */
interface Run {
  readonly asked: SnapshotPending;
  running: SnapshotRunning;
  then: StopOrder['then'];
}

type Firmness = Pick<SnapshotPending, 'preemptible' | 'minRuntimeSeconds' | 'gracePeriodSeconds'>;
const isFirm = ({ preemptible, minRuntimeSeconds, gracePeriodSeconds }: Firmness, returnSeconds: number): boolean =>
  !preemptible || minRuntimeSeconds + gracePeriodSeconds > returnSeconds;
const gpusOf = ({ kernels }: Pick<SnapshotRunning, 'kernels'>): number =>
  kernels.reduce((sum, { deviceIds }) => sum + deviceIds.length, 0);

/**
 * A ledger with a clock that carries plans out: sessions start a while after their placement, those that are told to end
 * leave within their grace period, and go back to the queue with their place. Every promise is checked when it is made.
 */
export class PreemptionWorld {
  nowMs = Date.parse(NOW);
  pending: SnapshotPending[] = [];
  runs: Run[] = [];
  holds: SnapshotHold[] = [];
  stops: StopOrder[] = [];
  /** Holders whose room was given up, or who ended. */
  readonly givenUp = new Set<string>();
  readonly startedSince = new Map<string, number>();
  readonly stopAtMs = new Map<StopOrder, number>();

  constructor(
    public nodes: readonly SnapshotNode[],
    readonly policy: Partial<Snapshot['group']['policy']>,
    readonly guarantees: Snapshot['guarantees'] = [],
  ) {}

  private at = (ms: number): string => new Date(ms).toISOString();

  snapshot(): Snapshot {
    const running = this.runs.map((run) => run.running);
    const pending = [...inQueueOrder(this.pending)];
    const world = { nodes: booked(this.nodes, running), pending, running, holds: this.holds, policy: this.policy };
    return { ...snapshot(world), guarantees: [...this.guarantees] };
  }

  arrive(session: SnapshotPending): void {
    this.pending.push({ ...session, submittedAt: this.at(this.nowMs) });
  }

  /** Somebody in the queue, or one that runs, ends by himself. */
  end(pick: number): void {
    const index = pick % Math.max(1, this.pending.length + this.runs.length);
    const waiting = this.pending[index];
    if (waiting !== undefined) {
      this.pending.splice(index, 1);
      this.givenUp.add(waiting.id);
      return;
    }
    this.runs.splice(index - this.pending.length, 1);
  }

  /** Time goes on: those that start run, and those whose grace is over are gone. */
  pass(seconds: number): void {
    this.nowMs += seconds * 1000;
    for (const run of this.runs)
      run.running = { ...run.running, startedAt: run.running.startedAt ?? this.at(this.nowMs) };
    const isGone = ({ running: { goneBy } }: Run): boolean => goneBy !== null && Date.parse(goneBy) <= this.nowMs;
    for (const { asked, then, running } of this.runs.filter(isGone)) {
      if (then === 'requeue') this.pending.push({ ...asked, attempt: running.attempt });
    }
    this.runs = this.runs.filter((run) => !isGone(run));
    this.plan();
  }

  private plan(): void {
    const before = this.snapshot();
    const plan = planPass(before, this.at(this.nowMs));
    this.checkStops(plan, before);
    this.checkRoom(plan, before);
    for (const { sessionId } of plan.ends) {
      this.pending = this.pending.filter(({ id }) => id !== sessionId);
      this.givenUp.add(sessionId);
    }
    for (const sessionId of plan.droppedHolds) this.dropHold(sessionId, true);
    for (const stop of plan.stops) this.stop(stop);
    for (const { sessionId, victims, kernels } of plan.holds) {
      this.dropHold(sessionId, false);
      this.givenUp.delete(sessionId);
      this.holds.push({ sessionId, since: this.at(this.nowMs), victims, kernels });
    }
    for (const placed of plan.placed) this.place(placed);
    this.checkGuarantees(before.pending);
  }

  /**
   * By its own count: what holders are guaranteed, or have in work that cannot be gone in time (held room counts as its
   * holder's work), is together no more than there is. Nothing is promised twice.
   */
  private checkGuarantees(asked: readonly SnapshotPending[]): void {
    const holderOf = ({ kind, projectId }: Pick<SnapshotPending, 'kind' | 'projectId'>): string =>
      kind === 'inference' && this.guarantees.some((each) => each.kind === 'inference') ? 'deployments' : projectId;
    const gpus = this.nodes.reduce((sum, { devices }) => sum + devices.length, 0);
    for (const { returnSeconds } of this.guarantees) {
      const sums = new Map<string, number>();
      const add = (holder: string, count: number): unknown => sums.set(holder, (sums.get(holder) ?? 0) + count);
      for (const { running } of this.runs)
        if (this.staysLonger(running, returnSeconds)) add(holderOf(running), gpusOf(running));
      for (const hold of this.holds) {
        const session = asked.find(({ id }) => id === hold.sessionId);
        if (session !== undefined && isFirm(session, returnSeconds)) add(holderOf(session), gpusOf(hold));
      }
      for (const each of this.guarantees.filter((other) => other.returnSeconds <= returnSeconds)) {
        const holder = each.kind === 'inference' ? 'deployments' : each.projectId;
        sums.set(holder, Math.max(sums.get(holder) ?? 0, each.gpuCount));
      }
      const promised = [...sums.values()].reduce((total, count) => total + count, 0);
      expect(promised, `within ${returnSeconds} s: ${JSON.stringify([...sums])}`).toBeLessThanOrEqual(gpus);
    }
  }

  private staysLonger(running: SnapshotRunning, returnSeconds: number): boolean {
    if (running.goneBy !== null) return Date.parse(running.goneBy) - this.nowMs > returnSeconds * 1000;
    if (running.startedAt === null) return isFirm(running, returnSeconds);
    const endMs = Date.parse(running.startedAt) + running.minRuntimeSeconds * 1000;
    return isFirm({ ...running, minRuntimeSeconds: Math.max(0, (endMs - this.nowMs) / 1000) }, returnSeconds);
  }

  private dropHold(sessionId: string, isGivenUp: boolean): void {
    this.holds = this.holds.filter((hold) => hold.sessionId !== sessionId);
    if (isGivenUp) this.givenUp.add(sessionId);
  }

  private stop(order: StopOrder): void {
    this.stops.push(order);
    this.stopAtMs.set(order, this.nowMs);
    const run = this.runs.find(({ running }) => running.id === order.sessionId) as Run;
    run.then = order.then;
    run.running = { ...run.running, goneBy: this.at(this.nowMs + order.graceSeconds * 1000) };
  }

  private place({ sessionId, kernels }: Plan['placed'][number]): void {
    const asked = this.pending.find(({ id }) => id === sessionId) as SnapshotPending;
    this.pending = this.pending.filter(({ id }) => id !== sessionId);
    this.dropHold(sessionId, false);
    this.startedSince.set(sessionId, this.nowMs);
    const { id, name, userId, projectId, domainId, kind, priority, submittedAt, preemptible } = asked;
    const { minRuntimeSeconds, maxRuntimeSeconds, gracePeriodSeconds, attempt, version } = asked;
    const owner = { id, name, userId, projectId, domainId, kind, priority, submittedAt, preemptible };
    const limits = { minRuntimeSeconds, maxRuntimeSeconds, gracePeriodSeconds, attempt: attempt + 1, version };
    const state = {
      placedAt: this.at(this.nowMs),
      startedAt: null,
      goneBy: null,
      replicaGroup: null,
      budgetId: null,
      resumable: false,
    };
    this.runs.push({ asked, then: 'end', running: { ...owner, ...limits, ...state, kernels } });
  }

  /** Nobody protected, nobody twice, nobody of the same or a higher priority but for what is lent. */
  private checkStops({ stops }: Plan, before: Snapshot): void {
    expect(new Set(stops.map(({ sessionId }) => sessionId)).size).toBe(stops.length);
    for (const stop of stops) {
      const victim = before.running.find(({ id }) => id === stop.sessionId) as SnapshotRunning;
      const holder = before.pending.find(({ id }) => id === stop.forSessionId) as SnapshotPending;
      expect(victim.goneBy).toBeNull();
      expect(victim.preemptible).toBe(true);
      expect(victim.startedAt).not.toBeNull();
      const protectedMs = Date.parse(victim.startedAt as string) + victim.minRuntimeSeconds * 1000;
      expect(protectedMs).toBeLessThanOrEqual(this.nowMs);
      if (this.guarantees.length === 0) expect(victim.priority).toBeLessThan(holder.priority);
    }
  }

  /** What is placed is free, and held for nobody else: each device, and each amount of a node in sum. */
  private checkRoom({ placed, holds, droppedHolds }: Plan, before: Snapshot): void {
    const gone = new Set<string>([...droppedHolds, ...placed.map(({ sessionId }) => sessionId)]);
    const kept = [...before.holds.filter(({ sessionId }) => !gone.has(sessionId)), ...holds];
    const heldDevices = kept.flatMap(({ kernels }) =>
      kernels.flatMap(({ node, deviceIds }) => deviceIds.map((id) => `${node}/${id}`)),
    );
    for (const { kernels } of placed) {
      for (const { node, deviceIds } of kernels)
        for (const id of deviceIds) expect(heldDevices).not.toContain(`${node}/${id}`);
    }
    const rooms = placed.map((each) => ({ kernels: each.kernels }) as unknown as SnapshotRunning);
    for (const node of booked(before.nodes, rooms)) {
      expect(node.used.cpuMilli).toBeLessThanOrEqual(node.capacity.cpuMilli);
    }
    const taken = placed.flatMap(({ kernels }) =>
      kernels.flatMap(({ node, deviceIds }) => deviceIds.map((id) => `${node}/${id}`)),
    );
    expect(new Set(taken).size).toBe(taken.length);
    for (const { kernels } of placed) {
      for (const { node, deviceIds } of kernels) {
        const devices = before.nodes.find(({ name }) => name === node)?.devices ?? [];
        for (const id of deviceIds) expect(devices.find((device) => device.id === id)?.heldBy).toBeNull();
      }
    }
  }

  /** Each stop was followed by a start of the one it was for, or his room was given up in words, or he still has it. */
  checkStopsHadAPoint(): void {
    for (const stop of this.stops) {
      const holder = stop.forSessionId as string;
      const startedMs = this.startedSince.get(holder) ?? 0;
      const isServed = startedMs >= (this.stopAtMs.get(stop) as number);
      const isHeld = this.holds.some(({ sessionId }) => sessionId === holder);
      expect(isServed || isHeld || this.givenUp.has(holder), `${stop.message}`).toBe(true);
    }
  }
}
