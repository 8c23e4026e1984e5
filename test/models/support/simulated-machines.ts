/** Simulated GPUs and engines, in memory: what is really there, whatever the ledger believes. Every excess is recorded. */
export interface SimulatedEngine {
  readonly id: string;
  readonly model: string;
  readonly gpus: readonly string[];
  readonly footprint: number;
  readonly floor: number;
  readonly residue: number;
  /** null: no segment yet. */
  segment: number | null;
  state: 'none' | 'awake' | 'asleep';
  /** Its room counts in full again: it is about to wake. */
  isWaking: boolean;
  used: number;
  running: number;
}

export class SimulatedMachines {
  readonly engines = new Map<string, SimulatedEngine>();
  readonly excesses: string[] = [];

  constructor(
    private readonly usable: number,
    private readonly releases: boolean,
  ) {}

  add(engine: SimulatedEngine): void {
    this.engines.set(engine.id, engine);
  }

  remove(id: string): void {
    this.engines.delete(id);
  }

  /** Of a sleeper that the ledger wakes its whole room counts from then on. */
  write(id: string, bytes: number, wakes: boolean): void {
    const engine = this.engines.get(id);
    if (engine === undefined) return;
    engine.segment = bytes;
    if (engine.state === 'asleep' && wakes && bytes >= engine.floor) engine.isWaking = true;
    this.check(engine, `limit ${bytes}`);
  }

  become(id: string, state: 'awake' | 'asleep'): void {
    const engine = this.engines.get(id);
    if (engine === undefined) return;
    engine.state = state;
    engine.isWaking = false;
    if (state === 'asleep') engine.used = 0;
    this.check(engine, state);
  }

  /** Σ of engines that are not released (F + limit in force) + Σ residues, on each GPU of the one that changed. */
  private check(changed: SimulatedEngine, what: string): void {
    for (const gpu of changed.gpus) {
      let taken = 0;
      for (const engine of this.engines.values()) if (engine.gpus.includes(gpu)) taken += this.takes(engine);
      if (taken > this.usable) this.excesses.push(`${gpu}: ${changed.model} ${what}: ${taken - this.usable} too much`);
    }
  }

  private takes({ state, segment, footprint, residue, isWaking }: SimulatedEngine): number {
    if (state === 'none') return segment === null ? 0 : footprint + segment;
    return state === 'asleep' && this.releases && !isWaking ? residue : footprint + (segment ?? this.usable);
  }
}
