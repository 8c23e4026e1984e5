import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { groupPolicySchema } from '../../src/contract/group-policy.js';
import { generatorSchema } from '../../src/contract/simulation.js';
import { generateJobs } from '../../src/simulator/generate-jobs.js';
import { onTerms } from '../../src/simulator/job-terms.js';
import { parseCsv } from '../../src/simulator/parse-csv.js';
import { runSimulation } from '../../src/simulator/run-simulation.js';
import type { SimulatedJob } from '../../src/simulator/simulated-job.js';
import { atLoad } from '../../src/simulator/stream.js';
import { summarize } from '../../src/simulator/summarize.js';
import type { Result, Row } from './support/report.js';

/** One policy over one stream, one thread. `measuredMs` is CPU time, which other work on the machine does not lengthen. */
export interface SimulatorRow {
  readonly case: string;
  readonly measuredMs: number;
  readonly targetMs: number;
  readonly met: boolean;
  readonly wallMs: number;
  readonly jobs: number;
  readonly passes: number;
  readonly meanWaitHours: number;
  /** The most memory that the process has had so far. */
  readonly peakBytes: number;
}

interface Case {
  readonly title: string;
  readonly jobs: readonly SimulatedJob[];
  readonly backfill: 'none' | 'easy';
  /** 512 GPUs and 5 s where nothing else is said. */
  readonly gpus?: number;
  readonly targetMs?: number;
}

const GPUS = 512;
const TARGET_MS = 5_000;

/** As many jobs as the Philly trace has, as long and as unequal. */
const madeUp = (load: number): readonly SimulatedJob[] =>
  generateJobs(
    generatorSchema.parse({ jobs: 9_358, load, duration: { medianSeconds: 1800, sigma: 2, maxSeconds: 604_800 } }),
    GPUS,
  );

function measure({ title, jobs, backfill, gpus = GPUS, targetMs = TARGET_MS }: Case): SimulatorRow {
  const nodes = [{ count: gpus / 8, prefix: 'node', gpus: 8, gpuModel: 'simulated' }];
  const policy = groupPolicySchema.parse({ backfill, placement: 'best-fit-devices', decay: { by: 'off' } });
  const [cpu, wall] = [process.cpuUsage(), performance.now()];
  const result = runSimulation({ nodes, jobs, policy });
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - wall;
  const measuredMs = (user + system) / 1000;
  return {
    case: title,
    measuredMs,
    targetMs,
    met: measuredMs <= targetMs,
    wallMs,
    jobs: jobs.length,
    passes: result.passes,
    meanWaitHours: (summarize(result).overall.wait.meanSeconds ?? 0) / 3600,
    peakBytes: process.resourceUsage().maxRSS * 1024,
  };
}

const MANY_GPUS = 1024;

/** So many made-up jobs on 1024 GPUs: 5 min for a million of them, and 2 GB. */
export function measureMany(count: number): SimulatorRow {
  const duration = { medianSeconds: 1800, sigma: 1.5, maxSeconds: 604_800 };
  const jobs = generateJobs(generatorSchema.parse({ seed: 1, jobs: count, load: 0.9, duration }), MANY_GPUS);
  const title = `${count} generated jobs on ${MANY_GPUS} GPUs, load 0.9, fifo`;
  return measure({ title, jobs, backfill: 'none', gpus: MANY_GPUS, targetMs: 300_000 });
}

/** `trace` is a CSV file of one's own; it is run as it is, and stretched to a load of 0.9. */
export async function measureAll(trace?: string): Promise<readonly SimulatorRow[]> {
  const cases: Case[] = [
    { title: '9358 generated jobs on 512 GPUs, load 0.9, fifo', jobs: madeUp(0.9), backfill: 'none' },
    { title: '9358 generated jobs on 512 GPUs, load 0.9, easy', jobs: madeUp(0.9), backfill: 'easy' },
  ];
  if (trace !== undefined) {
    const jobs = onTerms(parseCsv(readFileSync(trace, 'utf8')).jobs, { maxRuntime: 'duration', maxRuntimeFactor: 1 });
    cases.push({ title: 'the trace on 512 GPUs, fifo', jobs, backfill: 'none' });
    cases.push({ title: 'the trace on 512 GPUs, load 0.9, fifo', jobs: atLoad(jobs, 0.9, GPUS), backfill: 'none' });
    cases.push({ title: 'the trace on 512 GPUs, easy', jobs, backfill: 'easy' });
  }
  return cases.map(measure);
}

export async function run(): Promise<Result> {
  const rows = (await measureAll()).map(
    ({ case: name, measuredMs, met, wallMs, passes }): Row => ({
      name: `${name} (${passes} passes, ${(wallMs / 1000).toFixed(1)} s of wall time)`,
      measured: measuredMs / 1000,
      floor: null,
      ratio: null,
      target: `<= ${TARGET_MS / 1000} s of CPU`,
      verdict: met ? 'met' : 'missed',
      unit: 's',
    }),
  );
  return { name: 'simulator', rows };
}

if (process.argv[1] !== undefined && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({ options: { trace: { type: 'string' }, many: { type: 'string' } } });
  const rows = values.many === undefined ? await measureAll(values.trace) : [measureMany(Number(values.many))];
  console.log(JSON.stringify({ name: 'simulator', rows }, null, 2));
}
