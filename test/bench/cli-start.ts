import { join } from 'node:path';
import { runTimed, startPlant } from './support/plant.js';
import { atMost, median, type Result } from './support/report.js';

/** From the shell's command to its end, beside a Node that does nothing. */
const ROUNDS = 9;
/** The command line has to start in a third of a second. */
const LIMIT_MS = 333;
const BERTH = join(import.meta.dirname, '../../dist/berth.js');

export async function run(): Promise<Result> {
  const plant = await startPlant({ cpus: 4, gpus: 4 });
  const env = { ...process.env, BERTH_URL: plant.apiUrl, BERTH_TOKEN: plant.apiKey };
  const commands = { node: ['-e', '0'], version: [BERTH, '--version'], ps: [BERTH, 'ps'] };
  const times: Record<keyof typeof commands, number[]> = { node: [], version: [], ps: [] };
  try {
    for (let round = 0; round <= ROUNDS; round += 1) {
      for (const [name, args] of Object.entries(commands) as [keyof typeof commands, string[]][]) {
        const ms = await runTimed(args, env);
        if (round > 0) times[name].push(ms);
      }
    }
  } finally {
    await plant.stop();
  }
  const floor = { floor: median(times.node), unit: 'ms' };
  const rows = [
    atMost({ name: 'berth --version', measured: median(times.version), ...floor }, LIMIT_MS),
    atMost({ name: 'berth ps', measured: median(times.ps), ...floor }, LIMIT_MS),
  ];
  return { name: 'cli-start', rows, notes: [`${ROUNDS} rounds in turn, medians; the floor is node -e 0`] };
}
