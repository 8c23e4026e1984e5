import { HOUR_MS } from '../../src/budgets/gpu-time.js';
import type { Plan, StopOrder } from '../../src/contract/plan.js';
import type {
  Snapshot,
  SnapshotHold,
  SnapshotNode,
  SnapshotPending,
  SnapshotRunning,
} from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { NOW, snapshot } from './build.js';
import { budgetId, budgets, type TreeShape } from './build-budgets.js';
import { booked } from './build-running.js';

interface Run {
  readonly asked: SnapshotPending;
  running: SnapshotRunning;
  readonly endsMs: number;
  then: StopOrder['then'];
}

/** What was held, and whom it is charged to; null: nobody. */
interface Held {
  readonly sessionId: string;
  readonly leaf: string | null;
  readonly projectId: string;
  readonly gpus: number;
  readonly fromMs: number;
  untilMs: number;
}

export interface WorldOptions {
  readonly tree: TreeShape;
  readonly nodes: readonly SnapshotNode[];
  readonly windowHours: number;
  readonly backfill?: 'none' | 'easy' | 'conservative';
  /** Seconds until what was placed runs. */
  readonly startsIn?: number;
}

/** A ledger under a virtual clock whose group orders by fair share: it carries plans out and charges what they hold. */
export class FairShareWorld {
  nowMs = Date.parse(NOW);
  pending: SnapshotPending[] = [];
  runs: Run[] = [];
  holds: SnapshotHold[] = [];
  readonly stops: { readonly order: StopOrder; readonly atMs: number }[] = [];
  readonly held: Held[] = [];
  readonly givenUp = new Set<string>();
  readonly started = new Map<string, number>();
  readonly leaves: readonly string[];

  constructor(readonly options: WorldOptions) {
    const paths = Object.keys(options.tree.weights);
    this.leaves = paths
      .filter((path) => !paths.some((other) => other.startsWith(`${path}/`)))
      .map((path) => path.split('/').at(-1) as string);
  }

  at = (ms: number): string => new Date(ms).toISOString();

  get gpus(): number {
    return this.options.nodes.reduce((sum, { devices }) => sum + devices.length, 0);
  }

  /** GPU-h of the window that ends now: of a leaf, or of what is charged to nothing. */
  use(counts: (held: Held) => boolean): number {
    const fromMs = this.nowMs - this.options.windowHours * HOUR_MS;
    let sum = 0;
    for (const held of this.held) {
      if (counts(held))
        sum += held.gpus * Math.max(0, Math.min(held.untilMs, this.nowMs) - Math.max(held.fromMs, fromMs));
    }
    return sum / HOUR_MS;
  }

  useOf = (leaf: string): number => this.use((held) => held.leaf === budgetId(leaf));

  snapshot(): Snapshot {
    const { tree, nodes, windowHours, backfill = 'none' } = this.options;
    const running = this.runs.map((run) => run.running);
    const use = Object.fromEntries(this.leaves.map((leaf) => [leaf, this.useOf(leaf)]));
    const projects = [...new Set(this.held.flatMap(({ leaf, projectId }) => (leaf === null ? [projectId] : [])))];
    const unallocated = projects.map((id) => [id, this.use((held) => held.leaf === null && held.projectId === id)]);
    const shape = { ...tree, use, projects: Object.fromEntries(unallocated) as Record<string, number> };
    return snapshot({
      nodes: booked(nodes, running),
      running,
      holds: this.holds,
      pending: this.pending,
      policy: { order: 'fair-share', backfill },
      budgets: { ...budgets({ ...shape, capacity: this.gpus * windowHours }), windowSeconds: windowHours * 3600 },
    });
  }

  arrive(session: SnapshotPending): void {
    this.pending.push({ ...session, submittedAt: this.at(this.nowMs) });
  }

  /** Time goes on to the moment: those that start run, and those whose time or grace is over are gone. */
  advance(toMs: number): void {
    this.nowMs = toMs;
    const startsInMs = (this.options.startsIn ?? 0) * 1000;
    for (const run of this.runs) {
      const { placedAt, startedAt } = run.running;
      if (startedAt === null && Date.parse(placedAt) + startsInMs <= toMs)
        run.running = { ...run.running, startedAt: this.at(Date.parse(placedAt) + startsInMs) };
    }
    const goneMs = ({ running: { goneBy }, endsMs }: Run): number =>
      Math.min(endsMs, goneBy === null ? Infinity : Date.parse(goneBy));
    for (const run of this.runs.filter((each) => goneMs(each) <= toMs)) {
      const isStopped = goneMs(run) < run.endsMs;
      if (isStopped && run.then === 'requeue') this.pending.push({ ...run.asked, attempt: run.running.attempt });
      for (const held of this.held)
        if (held.sessionId === run.asked.id) held.untilMs = Math.min(held.untilMs, goneMs(run));
    }
    this.runs = this.runs.filter((run) => goneMs(run) > toMs);
  }

  /** One pass, carried out. `check` sees the plan beside what it was made of. */
  plan(check: (plan: Plan, before: Snapshot) => void = () => undefined): Plan {
    const before = this.snapshot();
    const plan = planPass(before, this.at(this.nowMs));
    check(plan, before);
    for (const sessionId of plan.droppedHolds) this.dropHold(sessionId, true);
    for (const order of plan.stops) this.stop(order);
    for (const { sessionId, victims, kernels } of plan.holds) {
      this.dropHold(sessionId, false);
      this.givenUp.delete(sessionId);
      this.holds.push({ sessionId, since: this.at(this.nowMs), victims, kernels });
    }
    for (const placed of plan.placed) this.place(placed);
    return plan;
  }

  leave(pick: number): void {
    const [gone] = this.pending.splice(pick % Math.max(1, this.pending.length), 1);
    if (gone !== undefined) this.givenUp.add(gone.id);
  }

  private dropHold(sessionId: string, isGivenUp: boolean): void {
    this.holds = this.holds.filter((hold) => hold.sessionId !== sessionId);
    if (isGivenUp) this.givenUp.add(sessionId);
  }

  private stop(order: StopOrder): void {
    this.stops.push({ order, atMs: this.nowMs });
    const run = this.runs.find(({ running }) => running.id === order.sessionId) as Run;
    run.then = order.then;
    run.running = { ...run.running, goneBy: this.at(this.nowMs + order.graceSeconds * 1000) };
  }

  private place({ sessionId, kernels }: Plan['placed'][number]): void {
    const asked = this.pending.find(({ id }) => id === sessionId) as SnapshotPending;
    this.pending = this.pending.filter(({ id }) => id !== sessionId);
    this.dropHold(sessionId, false);
    this.started.set(sessionId, this.nowMs);
    const endsMs = asked.maxRuntimeSeconds === null ? Infinity : this.nowMs + asked.maxRuntimeSeconds * 1000;
    const startedAt = (this.options.startsIn ?? 0) === 0 ? this.at(this.nowMs) : null;
    const running: SnapshotRunning = {
      ...asked,
      attempt: asked.attempt + 1,
      placedAt: this.at(this.nowMs),
      startedAt,
      replicaGroup: null,
      resumable: asked.image === 'resumes',
      goneBy: null,
      kernels,
    };
    this.runs.push({ asked, running, endsMs, then: 'end' });
    const gpus = kernels.reduce((sum, { deviceIds }) => sum + deviceIds.length, 0);
    const leaf = asked.minRuntimeSeconds > 0 ? asked.budgetId : null;
    this.held.push({ sessionId, leaf, projectId: asked.projectId, gpus, fromMs: this.nowMs, untilMs: Infinity });
  }

  /** Stops after which the one that they were for neither started, nor has the room still, nor gave it up in words. */
  pointlessStops(): readonly string[] {
    const isServed = ({ order: { forSessionId }, atMs }: (typeof this.stops)[number]): boolean =>
      (this.started.get(forSessionId ?? '') ?? -1) >= atMs ||
      this.holds.some(({ sessionId }) => sessionId === forSessionId) ||
      this.givenUp.has(forSessionId ?? '');
    return this.stops.filter((stop) => !isServed(stop)).map(({ order }) => order.message);
  }
}
