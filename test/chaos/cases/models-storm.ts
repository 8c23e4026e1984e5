import { setTimeout as pause } from 'node:timers/promises';
import { expect } from 'vitest';
import { NotFoundError } from '../../../src/sdk/index.js';
import type { Berth, Part } from '../support/berth.js';
import type { ChaosCase } from '../support/chaos-case.js';
import { randomOf } from '../support/choose.js';
import { engineOf } from '../support/engine-of.js';
import { ask, claim, endPool, engineContainers, makePool, measured, served, sound } from '../support/models.js';

const MODELS = ['s1', 's2', 's3', 's4', 's5'] as const;
const PARTS: readonly Part[] = ['node', 'node', 'control-1', 'control-1', 'gateway', 'api', 'postgres', 'temporal'];
const STORM_SECONDS = 120;
/** Below the restarts that an engine has, so that none is given up. */
const ENGINE_KILLS_MAX = 3;
const AUDIT_SECONDS = 6;

interface Storm {
  readonly berth: Berth;
  /** One of them, by the seed. */
  readonly one: <T>(of: readonly T[]) => T;
  readonly chance: () => number;
  /** What was done, for who reads a failure. */
  readonly log: string[];
  readonly counts: { answers: number; engineKills: number; processKills: number };
}

/** 200, a 503 that says why, or an engine that died under it; nothing hangs. A gateway that was killed answers nothing. */
async function request({ berth, log, counts }: Storm, model: string): Promise<void> {
  const answer = await ask(berth, model).catch((error: unknown) => error as Error);
  if (answer instanceof Error) {
    if (answer.name === 'AssertionError' || answer.name === 'TimeoutError') throw answer;
    log.push(`${model}: ${answer.message}`);
    return;
  }
  counts.answers += 1;
  expect([200, 404, 502, 503], answer.text).toContain(answer.status);
}

async function killEngine({ berth, one, log, counts }: Storm): Promise<void> {
  const containers = await engineContainers(berth);
  if (containers.length === 0 || counts.engineKills >= ENGINE_KILLS_MAX) return;
  const { name } = one(containers);
  counts.engineKills += 1;
  log.push(`kill ${name}`);
  await engineOf(berth)
    .kill(name)
    .catch(() => undefined); // it ended by itself
}

async function killPart({ berth, one, log, counts }: Storm): Promise<void> {
  const part = one(PARTS);
  counts.processKills += 1;
  log.push(`kill ${part}`);
  await berth.kill(part).catch((error: unknown) => log.push(`${part}: ${(error as Error).message}`)); // it is down already
}

/** One that is removed meanwhile is not there. */
const there = (call: Promise<unknown>): Promise<void> =>
  call.then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof NotFoundError)) throw error;
    },
  );

/** Nobody waits for it: what comes next comes meanwhile. */
function act(storm: Storm): Promise<void> {
  const { berth, chance, one, log } = storm;
  const model = one(MODELS);
  const at = chance();
  if (at < 0.74) return request(storm, model);
  if (at < 0.84) {
    log.push(`sleep ${model}`);
    return there(berth.client.models.sleep(model));
  }
  if (at < 0.88) {
    log.push(`${model} anew`);
    return there(berth.client.models.remove(model));
  }
  return at < 0.92 ? killEngine(storm) : killPart(storm);
}

/** Claims that were ended are made again once their name is free. */
async function claimAll(berth: Berth): Promise<void> {
  const there = new Set((await berth.client.models.list().toArray()).map(({ modelName }) => modelName));
  for (const model of MODELS) if (!there.has(model)) await claim(berth, model, { knobs: { 'wake-seconds': '0.5' } });
}

async function rage(storm: Storm): Promise<void> {
  const { berth, chance } = storm;
  const underWay: Promise<void>[] = [];
  const failures: unknown[] = [];
  let auditMs = performance.now();
  for (const until = auditMs + STORM_SECONDS * 1000; performance.now() < until && failures.length === 0; ) {
    underWay.push(act(storm).catch((error: unknown) => void failures.push(error)));
    await pause(100 + chance() * 500);
    if (performance.now() - auditMs < AUDIT_SECONDS * 1000) continue;
    await sound(berth);
    await claimAll(berth);
    auditMs = performance.now();
  }
  await Promise.all(underWay);
  expect(failures).toEqual([]);
}

async function storm(berth: Berth): Promise<void> {
  const seed = Number(process.env['BERTH_CHAOS_SEED'] || Date.now() % 2 ** 31);
  const chance = randomOf(seed);
  const one = <T>(of: readonly T[]): T => of[Math.floor(chance() * of.length)] as T;
  const counts = { answers: 0, engineKills: 0, processKills: 0 };
  const raging: Storm = { berth, one, chance, log: [], counts };
  await makePool(berth, { members: 2 });
  await claimAll(berth);
  try {
    await rage(raging);
    for (const part of new Set(PARTS)) await berth.back(part);
    await measured(berth.client, 2);
    await claimAll(berth);
    for (const model of MODELS) await served(berth, model, 120);
  } catch (error) {
    console.error(`seed ${seed}: ${JSON.stringify(counts)}\n${raging.log.join('\n')}`);
    throw error;
  }
  expect(counts.answers).toBeGreaterThan(20);
  await endPool(berth);
}

export const modelStormCases: readonly ChaosCase[] = [
  {
    title:
      'models: requests, sleeps, ends and kills of engines and of every process at random: no byte twice, no wake lost',
    seconds: 240,
    onlyWhole: true,
    run: storm,
  },
];
