import type { Plan } from '../../src/contract/plan.js';
import type { Snapshot, SnapshotNode, SnapshotPending, SnapshotRunning } from '../../src/contract/snapshot.js';
import { planPass } from '../../src/scheduler/plan-pass.js';
import { GIB, node, quota, session, slots, snapshot } from './build.js';
import { booked } from './build-running.js';

/** Numbers from a seed, the same on every machine. */
export function dice(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const upTo = (most: number): number => Math.floor(next() * (most + 1));
  const one = <Item>(items: readonly Item[]): Item => items[upTo(items.length - 1)] as Item;
  const shuffled = <Item>(items: readonly Item[]): Item[] =>
    items
      .map((item) => ({ item, key: next() }))
      .toSorted((a, b) => a.key - b.key)
      .map(({ item }) => item);
  return { upTo, one, shuffled, chance: (part: number) => next() < part };
}
export type Dice = ReturnType<typeof dice>;

const START_MS = Date.parse('2026-11-30T12:00:00.000Z');
const stamp = (ms: number): string => new Date(ms).toISOString();

/** A group under a virtual clock: sessions come, start by the plan, and end at or before their bound. */
export class VirtualGroup {
  nowMs = START_MS;
  pending: SnapshotPending[] = [];
  running: { readonly session: SnapshotRunning; readonly endsMs: number; readonly asked: SnapshotPending }[] = [];
  readonly nodes: readonly SnapshotNode[];
  readonly base: Snapshot;
  made = 0;

  constructor(
    readonly random: Dice,
    policy: Partial<Snapshot['group']['policy']>,
    readonly options: {
      readonly shares?: boolean;
      readonly gangs?: boolean;
      readonly quotas?: boolean;
      readonly endless?: boolean;
    },
  ) {
    this.base = snapshot({ nodes: [], pending: [], policy });
    this.nodes = Array.from({ length: 1 + random.upTo(2) }, (_, n) => {
      const made = node(`n${n}`, { cpu: 2 + random.upTo(4), gib: 8, gpus: random.upTo(4) });
      const devices = made.devices.map((device) => ({
        ...device,
        sharing: options.shares ? ('mps' as const) : ('none' as const),
      }));
      return { ...made, devices };
    });
  }

  arrive(): void {
    const { random, options } = this;
    const n = (this.made += 1);
    const kernel = () => {
      const kind = random.upTo(5);
      const base = slots(1 + random.upTo(1), 1 + random.upTo(2), kind < 3 ? kind : 0);
      return kind === 5 && options.shares ? { ...base, gpuMemoryBytes: (4 + random.upTo(16)) * GIB } : base;
    };
    const isGang = options.gangs && random.chance(0.3);
    const made = session(n, {
      kernels: Array.from({ length: isGang ? 2 + random.upTo(1) : 1 }, kernel),
      clusterMode: isGang && random.chance(0.7) ? 'multi-node' : 'single-node',
      priority: random.one([10, 10, 10, 20]),
      userId: random.one(['usr_alice', 'usr_bob']),
      maxRuntimeSeconds: options.endless && random.chance(0.15) ? null : 10 * (1 + random.upTo(30)),
      gracePeriodSeconds: random.one([0, 10]),
      submittedAt: stamp(this.nowMs),
    });
    this.pending.push(made);
    this.pending.sort(
      (a, b) =>
        b.priority - a.priority || Date.parse(a.submittedAt) - Date.parse(b.submittedAt) || (a.id < b.id ? -1 : 1),
    );
  }

  /** GPUs that the user may hold. */
  quotaOf = (userId: string): number => (this.options.quotas && userId === 'usr_alice' ? 3 : Infinity);

  snapshot(): Snapshot {
    const running = this.running.map((each) => each.session);
    const held = (userId: string) => {
      const mine = this.running.filter(({ asked }) => asked.userId === userId).flatMap(({ asked }) => asked.kernels);
      return { gpuCount: mine.reduce((sum, each) => sum + each.slots.gpuCount, 0) };
    };
    const quotas = this.options.quotas ? [quota('user', { gpuCount: 3 }, held('usr_alice'))] : [];
    return { ...this.base, nodes: booked(this.nodes, running), running, pending: this.pending, quotas };
  }

  plan(snap: Snapshot): Plan {
    return planPass(snap, stamp(this.nowMs));
  }

  apply(plan: Plan): void {
    for (const { sessionId, kernels } of plan.placed) {
      const asked = this.pending.find(({ id }) => id === sessionId) as SnapshotPending;
      const boundMs =
        asked.maxRuntimeSeconds === null ? 400_000 : (asked.maxRuntimeSeconds + asked.gracePeriodSeconds) * 1000;
      const lastsMs = this.random.chance(0.4)
        ? boundMs
        : Math.max(1000, Math.floor((boundMs * this.random.upTo(10)) / 10));
      const started: SnapshotRunning = {
        ...asked,
        attempt: 1,
        placedAt: plan.now,
        startedAt: plan.now,
        replicaGroup: null,
        resumable: false,
        goneBy: null,
        kernels: kernels.map((each) => ({ ...each, deviceIds: [...each.deviceIds] })),
      };
      this.running.push({ session: started, asked, endsMs: this.nowMs + lastsMs });
      this.pending = this.pending.filter(({ id }) => id !== sessionId);
    }
  }

  /** To the next end, or a little ahead. */
  advance(): void {
    const next = Math.min(...this.running.map(({ endsMs }) => endsMs));
    const stepMs = 1000 * (1 + this.random.upTo(40));
    this.nowMs =
      Number.isFinite(next) && (this.pending.length > 0 || this.random.chance(0.5))
        ? Math.max(this.nowMs, next)
        : this.nowMs + stepMs;
    this.running = this.running.filter(({ endsMs }) => endsMs > this.nowMs);
  }
}
