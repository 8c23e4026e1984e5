import type { PoolPlan, PoolSnapshot, SnapshotClaim, SnapshotInstance } from '../../../src/contract/index.js';
import { poolSnapshotSchema } from '../../../src/contract/index.js';
import { believableResidue } from '../../../src/models/believable-residue.js';
import { planPool } from '../../../src/models/plan-pool.js';
import { planProblems } from './plan-problems.js';
import { randomOf } from './random-of.js';
import { type SimulatedEngine, SimulatedMachines } from './simulated-machines.js';
import type { SimulatedPoolSettings } from './simulated-pool-settings.js';

type Claim = { -readonly [K in keyof SnapshotClaim]: SnapshotClaim[K] };
type Row = { -readonly [K in keyof SnapshotInstance]: SnapshotInstance[K] };

/**
 * A pool in memory: the rows that a store would keep, the steps that workflows would take, and simulated machines. Each step
 * may be lost, repeated or left undone, as if its process had been killed; nothing but the rows lives on.
 */
export class SimulatedPool {
  nowMs = 1_000_000;
  readonly machines: SimulatedMachines;
  readonly claims: Claim[] = [];
  rows: Row[] = [];
  readonly problems: string[] = [];
  readonly counts = { turns: 0, wakes: 0, sleeps: 0, places: 0, moves: 0 };
  trouble: number;
  /** 0–1, the same for a seed. */
  readonly random: () => number;
  private holds: PoolSnapshot['holds'] = [];
  private silentUntil = new Map<string, number>();
  /** Members whose last answer about limits was lost: what is in force there is not known before the next look. */
  private readonly unheard = new Set<string>();
  private ids = 0;

  constructor(readonly settings: SimulatedPoolSettings) {
    this.machines = new SimulatedMachines(settings.usable, settings.releases);
    this.trouble = settings.trouble;
    this.random = randomOf(settings.seed);
  }

  private goesWrong = (): boolean => this.random() < this.trouble;
  private memberOf = (gpu: number): string => `member-${Math.floor(gpu / this.settings.gpusPerMember)}`;

  private isSilent = (member: string): boolean => (this.silentUntil.get(member) ?? 0) > this.nowMs;

  snapshot(): PoolSnapshot {
    const { gpus, usable, releases, sleepAfterSeconds } = this.settings;
    const members = [...new Set(Array.from({ length: gpus }, (_, n) => this.memberOf(n)))];
    const isUnknown = (member: string): boolean => this.isSilent(member) || this.unheard.has(member);
    return {
      pool: 'simulated',
      policy: {
        placement: 'spread',
        noWakeReserveWhileAsleep: releases,
        sleepAfterSeconds,
        sleepToMakeRoomAfterSeconds: null,
      },
      changed: true,
      gpusPerMember: null,
      membersWaitFor: null,
      members: members.map((sessionId) => ({
        sessionId,
        node: sessionId,
        state: 'READY',
        hostMemoryBytes: 2 ** 50,
        hostUsedBytes: 0,
        cached: [],
      })),
      gpus: Array.from({ length: gpus }, (_, n) => ({
        name: `g/${n}`,
        member: this.memberOf(n),
        device: `GPU-${n}`,
        usableBytes: usable,
        holes: isUnknown(this.memberOf(n)) ? ['agent silent'] : [],
      })),
      claims: this.claims.map((claim) => ({ ...claim })),
      instances: this.rows.map((row) => ({ ...row })),
      holds: this.holds,
    };
  }

  claim(model: string, figures: Partial<SnapshotClaim> & { footprintBytes: number; kvFloorBytes: number }): void {
    const { claims } = poolSnapshotSchema.parse({
      ...this.snapshot(),
      claims: [{ id: `c-${model}`, model, createdMs: this.nowMs, ...figures }],
      instances: [],
    });
    this.claims.push(...claims);
  }

  end(model: string): void {
    for (const claim of this.claims) if (claim.model === model) claim.isEnding = true;
  }

  /** A request: to an engine that serves, or a wake asked for. */
  request(model: string): void {
    const claim = this.claims.find((each) => each.model === model);
    if (claim === undefined || claim.isEnding) return;
    const rows = this.rows.filter(({ claimId }) => claimId === claim.id);
    claim.lastRequestMs = this.nowMs;
    const awake = rows.find(({ phase, order }) => phase === 'ACTIVE' && order === null);
    const engine = awake === undefined ? undefined : this.machines.engines.get(awake.id);
    if (engine !== undefined) engine.running += 1;
    else if (rows.some(({ phase }) => phase === 'SLEEPING')) claim.wakeAskedMs ??= this.nowMs;
  }

  /** One turn of the planner with what follows from it. */
  turn(): void {
    const snapshot = this.snapshot();
    const plan = planPool(snapshot, this.nowMs);
    this.counts.turns += 1;
    this.problems.push(...planProblems(snapshot, plan));
    if (this.goesWrong()) return;
    const ids = this.commit(plan);
    const again = planPool(this.snapshot(), this.nowMs);
    if (again.places.length + again.orders.length > 0)
      this.problems.push(`planned again: ${JSON.stringify([again.places, again.orders])}`);
    for (const limits of plan.limits) this.writeLimits(limits, ids);
  }

  private commit(plan: PoolPlan): ReadonlyMap<string, string> {
    const ids = new Map<string, string>();
    for (const { claimId, replica, member, gpus, movesFrom } of plan.places) {
      this.ids += 1;
      const id = `i${this.ids}`;
      const key = `new:${claimId}/${replica}`;
      ids.set(key, id);
      this.counts[movesFrom === null ? 'places' : 'moves'] += 1;
      const row = { id, claimId, replica, member, gpus, movesFrom, phase: 'STARTING', order: 'start' };
      const { instances } = poolSnapshotSchema.parse({ ...this.snapshot(), instances: [row] });
      this.rows.push(...instances);
    }
    for (const { instanceId, kind } of plan.orders) {
      const row = this.rows.find(({ id }) => id === instanceId);
      if (row === undefined) continue;
      row.order = kind;
      row.idleSinceMs = kind === 'sleep' ? row.idleSinceMs : this.nowMs;
      if (kind === 'wake')
        Object.assign(row, {
          phase: 'WAKING',
          residueBytes: null,
          lastResidueBytes: row.residueBytes ?? row.lastResidueBytes,
        });
      if (kind === 'stop') row.phase = 'STOPPING';
      if (kind === 'wake') this.counts.wakes += 1;
      if (kind === 'sleep') this.counts.sleeps += 1;
    }
    for (const { claimId } of plan.calledOff)
      for (const claim of this.claims) if (claim.id === claimId) claim.wakeAskedMs = null;
    this.holds = plan.holds.map(({ because: _because, ...hold }) => hold);
    for (const row of this.rows) {
      const key = [...ids].find(([, id]) => id === row.id)?.[0] ?? row.id;
      row.plannedBytes = plan.planned[key] ?? row.plannedBytes;
      row.shortBefore = plan.short.includes(row.id);
    }
    return ids;
  }

  /** Lower, read back, record, raise: each may be lost, reach nothing, come twice, or be left undone. */
  private writeLimits({ member, lower, raise }: PoolPlan['limits'][number], ids: ReadonlyMap<string, string>): void {
    if (this.isSilent(member)) return;
    const failed = new Set<string>();
    for (const stage of [lower, raise]) {
      for (const { instanceId, toBytes } of stage) {
        if (this.goesWrong() && this.goesWrong()) return;
        const row = this.rows.find(({ id }) => id === (ids.get(instanceId) ?? instanceId));
        if (row === undefined || (stage === raise && row.gpus.some((gpu) => failed.has(gpu)))) continue;
        const engine = this.machines.engines.get(row.id) ?? this.newEngine(row);
        const reachesNothing = this.goesWrong();
        const wakes = row.phase === 'WAKING';
        if (!reachesNothing) this.machines.write(row.id, toBytes, wakes);
        if (this.goesWrong()) this.machines.write(row.id, engine.segment ?? toBytes, wakes);
        const isConfirmed = engine.segment === toBytes && engine.used <= toBytes;
        if (!isConfirmed) for (const gpu of row.gpus) failed.add(gpu);
        const isAnswerLost = this.goesWrong();
        if (isAnswerLost) {
          for (const gpu of row.gpus) failed.add(gpu);
          this.unheard.add(member);
        } else Object.assign(row, { limitBytes: engine.segment, kvUsedBytes: engine.used });
      }
    }
  }

  private newEngine(row: Row): SimulatedEngine {
    const claim = this.claims.find(({ id }) => id === row.claimId);
    const footprint = claim?.footprintBytes ?? 0;
    const engine: SimulatedEngine = {
      id: row.id,
      model: claim?.model ?? '',
      gpus: row.gpus,
      footprint,
      floor: claim?.kvFloorBytes ?? 0,
      residue: Math.round(footprint * 0.04),
      segment: null,
      state: 'none',
      isWaking: false,
      used: 0,
      running: 0,
    };
    this.machines.add(engine);
    return engine;
  }

  /** Orders whose time has come are carried out and settled; both may be lost, and come again. */
  carryOut(): void {
    for (const row of [...this.rows]) {
      if (row.order === null || this.random() < 0.4) continue;
      if (
        row.order !== 'sleep' &&
        row.order !== 'stop' &&
        (row.limitBytes === null || row.limitBytes !== row.plannedBytes)
      )
        continue;
      if (this.isSilent(row.member) || this.goesWrong()) continue;
      this.settle(row, row.order);
    }
    for (const claim of [...this.claims]) {
      if (claim.isEnding && !this.rows.some(({ claimId }) => claimId === claim.id))
        this.claims.splice(this.claims.indexOf(claim), 1);
    }
  }

  private settle(row: Row, kind: NonNullable<Row['order']>): void {
    const engine = this.machines.engines.get(row.id) ?? this.newEngine(row);
    if (kind === 'stop') {
      this.machines.remove(row.id);
      if (!this.goesWrong()) this.close(row);
      return;
    }
    if (kind === 'sleep' && engine.running > 0) {
      Object.assign(row, { order: null, noSleepBeforeMs: this.nowMs + 10_000, idleSinceMs: this.nowMs });
      return;
    }
    if (kind === 'start' && this.goesWrong()) {
      this.machines.remove(row.id);
      this.close(row);
      const claim = this.claims.find(({ id }) => id === row.claimId);
      claim?.avoid.push(...row.gpus.map((gpu) => ({ gpu, untilMs: this.nowMs + 60_000 })));
      return;
    }
    this.machines.become(row.id, kind === 'sleep' ? 'asleep' : 'awake');
    if (this.goesWrong()) return;
    this.settled(row, engine, kind);
  }

  private settled(row: Row, engine: SimulatedEngine, kind: 'start' | 'sleep' | 'wake'): void {
    const at = { order: null, idleSinceMs: this.nowMs, phaseSinceMs: this.nowMs, kvUsedBytes: engine.used };
    if (kind === 'sleep') {
      const left = this.goesWrong() ? engine.footprint : engine.residue;
      const residueBytes = believableResidue({ footprintBytes: engine.footprint, awakeBytes: null, asleepBytes: left });
      Object.assign(row, at, { phase: 'SLEEPING', residueBytes, running: null, waiting: null });
      return;
    }
    Object.assign(row, at, { phase: 'ACTIVE', awakeSinceMs: this.nowMs, running: 0, waiting: 0 });
    for (const claim of this.claims) if (claim.id === row.claimId) claim.wakeAskedMs = null;
  }

  private close(row: Row): void {
    this.rows = this.rows.filter((each) => each !== row);
  }

  /** An engine that dies for good: its row closes, as a store closes what an agent reports as given up. */
  crash(): void {
    const row = this.rows[Math.floor(this.random() * this.rows.length)];
    if (row === undefined || row.phase !== 'ACTIVE') return;
    this.machines.remove(row.id);
    this.close(row);
  }

  silence(member: string, ms: number): void {
    this.silentUntil.set(member, this.nowMs + ms);
    this.unheard.add(member);
  }

  /** Caches follow load up to their limit; then each agent that answers tells what it sees. */
  look(): void {
    for (const engine of this.machines.engines.values()) {
      if (engine.state !== 'awake') continue;
      const limit = engine.segment ?? 0;
      if (engine.running > 0) engine.used = Math.max(engine.used, Math.floor(limit * this.random()));
      else engine.used = Math.floor(engine.used / 2);
    }
    for (const member of this.unheard) if (!this.isSilent(member)) this.unheard.delete(member);
    for (const row of this.rows) {
      const engine = this.machines.engines.get(row.id);
      if (engine === undefined || this.isSilent(row.member)) continue;
      Object.assign(row, { limitBytes: engine.segment, kvUsedBytes: engine.used });
      if (row.phase !== 'ACTIVE') continue;
      const isUnread = this.goesWrong();
      Object.assign(row, { running: isUnread ? null : Math.min(9, engine.running), waiting: isUnread ? null : 0 });
      if (engine.running > 0 || isUnread) row.idleSinceMs = null;
      else row.idleSinceMs ??= this.nowMs;
    }
  }

  /** Requests that are in flight end. */
  serve(share: number): void {
    for (const engine of this.machines.engines.values()) if (this.random() < share) engine.running = 0;
  }
}
