import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { packageRoot } from '../../src/cli/supervisor/programs.js';
import { ensureTestDocker } from '../support/docker.js';
import { CASES } from './cases/index.js';
import { type Berth, startBerth } from './support/berth.js';
import { type ChaosCase, IS_WHOLE } from './support/chaos-case.js';
import { sampleOf } from './support/choose.js';
import { closingCheck } from './support/closing-check.js';
import { startPrivateEngine } from './support/private-engine.js';

/** `npm test` runs a sample by its seed; `npm run test:chaos` runs all. */
const SAMPLE = { count: 5, seconds: 120 };
const CASE_SECONDS_MAX = 420;

const seed = Number(process.env['BERTH_CHAOS_SEED'] || Date.now() % 2 ** 31);
const cases = IS_WHOLE ? CASES : sampleOf(CASES, seed, SAMPLE);

type Stage = NonNullable<ChaosCase['stage']>;
const stages = new Map<Stage, Berth>();

/** One Berth for all cases of a stage, started when the first needs it, and anew after a case that failed. */
async function stageOf({ stage = 'shared' }: ChaosCase): Promise<Berth> {
  const berth = stages.get(stage) ?? (await startStage(stage));
  stages.set(stage, berth);
  return berth;
}

const startStage = async (stage: Stage): Promise<Berth> =>
  startBerth({
    ...(stage === 'private' && { engine: await startPrivateEngine() }),
    ...(stage === 'two-nodes' && { nodes: 2 }),
  });

async function endStage(stage: Stage, keep: boolean): Promise<void> {
  const berth = stages.get(stage);
  stages.delete(stage);
  await berth?.end({ keep });
  await berth?.engine?.stop();
}

async function play(one: ChaosCase): Promise<void> {
  const berth = await stageOf(one);
  try {
    await one.run(berth);
    await closingCheck(berth);
  } catch (error) {
    console.error(`"${one.title}" failed; the logs are in ${berth.state.logsDir}`);
    await endStage(one.stage ?? 'shared', true);
    throw error;
  }
}

beforeAll(async () => {
  await ensureTestDocker();
  const built = spawnSync(process.execPath, [join(packageRoot(), 'infra', 'ensure-built.mjs')], { stdio: 'inherit' });
  if (built.status !== 0) throw new Error('Berth could not be built');
}, 300_000);

afterAll(async () => {
  for (const stage of stages.keys()) await endStage(stage, false);
}, 240_000);

describe(`what a kill leaves (BERTH_CHAOS_SEED=${seed})`, () => {
  for (const one of cases) test(one.title, () => play(one), CASE_SECONDS_MAX * 1000);
});
