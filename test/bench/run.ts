/**
 * `npm run bench [-- NAME… --json --sessions N --waiting N]`: all benchmarks, or the named ones, one after the other. Each
 * prints a table with its targets and leaves JSON under test-results/bench. A missed target fails nothing.
 */
import { machine, type Result, show } from './support/report.js';

const BENCHMARKS: Readonly<Record<string, () => Promise<{ run(): Promise<Result> }>>> = {
  'budget-window': () => import('./budget-window.js'),
  'scheduler-pass': async () => {
    const { passResult } = await import('./support/pass-result.js');
    return { run: passResult };
  },
  'app-proxy': () => import('./app-proxy.js'),
  'fair-share-cases': () => import('./fair-share-cases.js'),
  deployments: () => import('./deployments.js'),
  'model-gateway': () => import('./model-gateway.js'),
  'model-bursts': () => import('./model-bursts.js'),
  'model-wake': () => import('./model-wake.js'),
  'models-planner': () => import('./models-planner.js'),
  'scheduling-scale': () => import('./scheduling-scale.js'),
  simulator: () => import('./simulator.js'),
  storage: () => import('./storage.js'),
  'store-pass': () => import('./store-pass.js'),
  'submit-latency': () => import('./submit-latency.js'),
  throughput: () => import('./throughput.js'),
  waiting: () => import('./waiting.js'),
  'cli-start': () => import('./cli-start.js'),
};

const named = process.argv.slice(2).filter((word) => /^[a-z]/.test(word));
const unknown = named.filter((name) => !(name in BENCHMARKS));
if (unknown.length > 0) {
  console.error(`no benchmark is called ${unknown.join(', ')}; there are ${Object.keys(BENCHMARKS).join(', ')}`);
  process.exit(2);
}

let broken = 0;
for (const name of named.length > 0 ? named : Object.keys(BENCHMARKS)) {
  const before = machine();
  try {
    const benchmark = await BENCHMARKS[name]?.();
    if (benchmark !== undefined) show(await benchmark.run(), before);
  } catch (error) {
    broken += 1;
    console.error(`${name} could not be measured:`, error);
  }
}
process.exit(broken === 0 ? 0 : 1);
