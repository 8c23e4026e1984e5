import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SimulatedPool } from './support/simulated-pool.js';
import type { SimulatedPoolSettings } from './support/simulated-pool-settings.js';

const GIB = 2 ** 30;
const RUNS = Number(process.env['BERTH_PROPERTY_RUNS'] ?? 80);

/** Bursts, arrivals, ends, crashes and silent agents, by the seed. */
function live(pool: SimulatedPool, models: readonly string[], seconds: number): void {
  for (let second = 0; second < seconds; second += 1) {
    pool.nowMs += 1000;
    for (const model of models) if (pool.random() < 0.03) pool.request(model);
    pool.serve(0.3);
    if (pool.random() < pool.trouble * 0.2) pool.crash();
    if (pool.random() < pool.trouble * 0.1) pool.silence('member-0', 20_000);
    if (second % 10 === 0) pool.look();
    if (second % 10 === 0 || pool.random() < 0.3) pool.turn();
    pool.carryOut();
  }
}

/** Without trouble or load, until nothing is missing or asked for; the seconds that it took. */
function settle(pool: SimulatedPool, seconds: number): number {
  pool.trouble = 0;
  for (let second = 0; second < seconds; second += 1) {
    pool.nowMs += 1000;
    pool.serve(1);
    for (const claim of pool.claims) if (claim.wakeAskedMs !== null) claim.lastRequestMs = pool.nowMs;
    if (second % 10 === 0) pool.look();
    if (second % 2 === 0) pool.turn();
    pool.carryOut();
    const isPlaced = pool.claims.every(({ id }) => pool.rows.some(({ claimId }) => claimId === id));
    if (isPlaced && pool.claims.every(({ wakeAskedMs }) => wakeAskedMs === null)) return second;
  }
  return seconds;
}

const names = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, n) => `m${String(n).padStart(2, '0')}`);

function filled(settings: SimulatedPoolSettings, count: number): { pool: SimulatedPool; models: readonly string[] } {
  const pool = new SimulatedPool(settings);
  const models = names(count);
  for (const model of models) {
    const footprintBytes = Math.round((4 + pool.random() * 30) * GIB);
    const gpusPerInstance = Math.min(settings.gpus, settings.gpusPerMember) > 1 && pool.random() < 0.15 ? 2 : 1;
    const priority = pool.random() < 0.1 ? 3 : 0;
    pool.claim(model, {
      footprintBytes,
      kvFloorBytes: Math.round((1 + pool.random() * 9) * GIB),
      gpusPerInstance,
      priority,
    });
  }
  return { pool, models };
}

const settingsOf = fc.record({
  seed: fc.nat(),
  gpus: fc.constantFrom(1, 2, 4),
  gpusPerMember: fc.constantFrom(1, 2),
  usable: fc.constant(Math.round(95.1 * GIB)),
  releases: fc.constant(true),
  sleepAfterSeconds: fc.constantFrom(null, 60),
  trouble: fc.constantFrom(0, 0.05, 0.2),
});

describe('a pool under bursts, crashes, lost answers, repeats and killed processes', () => {
  it('exceeds no GPU at any instant, promises no byte twice, loses no wake, and places all that fits', () => {
    fc.assert(
      fc.property(settingsOf, fc.integer({ min: 2, max: 5 }), (settings, perGpu) => {
        const { pool, models } = filled(settings, perGpu * settings.gpus);
        live(pool, models, 240);
        if (pool.random() < 0.5) pool.end('m00');
        const took = settle(pool, 1800);
        expect(pool.machines.excesses).toEqual([]);
        expect(pool.problems).toEqual([]);
        expect(took).toBeLessThan(1800);
      }),
      { numRuns: RUNS },
    );
  });
  it('where reservations are kept nobody sleeps for another, and a wake always has its room', () => {
    fc.assert(
      fc.property(settingsOf, (given) => {
        const { pool, models } = filled({ ...given, releases: false }, 2 * given.gpus);
        live(pool, models, 240);
        pool.trouble = 0;
        for (const row of pool.rows)
          if (row.phase === 'SLEEPING') pool.request(pool.claims.find(({ id }) => id === row.claimId)?.model ?? '');
        for (let second = 0; second < 60; second += 1) {
          pool.nowMs += 1000;
          pool.serve(1);
          if (second % 5 === 0) pool.look();
          pool.turn();
          pool.carryOut();
        }
        expect(pool.claims.filter(({ wakeAskedMs }) => wakeAskedMs !== null)).toEqual([]);
        expect([...pool.machines.excesses, ...pool.problems]).toEqual([]);
      }),
      { numRuns: Math.ceil(RUNS / 3) },
    );
  });
  it('39 models on 8 GPUs for an hour of bursts', () => {
    const usable = Math.round(95.1 * GIB);
    const settings = {
      seed: 39,
      gpus: 8,
      gpusPerMember: 4,
      usable,
      releases: true,
      sleepAfterSeconds: 300,
      trouble: 0.02,
    };
    const { pool, models } = filled(settings, 39);
    live(pool, models, 3600);
    expect(pool.machines.excesses).toEqual([]);
    expect(pool.problems).toEqual([]);
    expect(pool.counts.wakes).toBeGreaterThan(50);
    expect(settle(pool, 1800)).toBeLessThan(1800);
  });
});
