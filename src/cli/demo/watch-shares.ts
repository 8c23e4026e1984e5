import { CliError } from '../cli-error.js';
import { budgetOf, PROGRAMS, type Program } from './budgets-scene.js';
import type { DemoOptions } from './demo-options.js';

/** GPU-seconds that were charged within the window, and GPUs that are held. */
export interface SeenShare {
  readonly usedGpuSeconds: number;
  readonly runningGpus: number;
  readonly pendingGpus: number;
}
export interface SeenShares {
  readonly at: string;
  readonly shares: Readonly<Record<Program, SeenShare>>;
}
export interface Watched {
  readonly what: string;
  readonly secondsMax: number;
  readonly isSo: (seen: SeenShares) => boolean;
  readonly keep: (seen: SeenShares) => Promise<void>;
}

const LOOK_MILLISECONDS = 1000;

export async function sharesNow({ admin }: Pick<DemoOptions, 'admin'>): Promise<SeenShares> {
  const [greedy, patient] = await Promise.all(PROGRAMS.map((program) => admin.budgets.get(budgetOf(program))));
  if (greedy === undefined || patient === undefined) throw new Error('a program has no budget');
  const seen = ({ use }: typeof greedy): SeenShare => ({
    usedGpuSeconds: use.usedGpuSeconds,
    runningGpus: use.runningGpus,
    pendingGpus: use.pendingGpus,
  });
  return { at: greedy.use.at, shares: { greedy: seen(greedy), patient: seen(patient) } };
}

/** Of what was charged to both, the greedy one's part, 0 to 1; 1 while nothing was. */
export function greedyShare({ shares: { greedy, patient } }: SeenShares): number {
  const sum = greedy.usedGpuSeconds + patient.usedGpuSeconds;
  return sum === 0 ? 1 : greedy.usedGpuSeconds / sum;
}

/** `greedy 48.2 GPU-s (80 %; 3 GPUs, 8 waiting), patient …` */
export function sharesText(seen: SeenShares): string {
  const parts = { greedy: greedyShare(seen), patient: 1 - greedyShare(seen) };
  return PROGRAMS.map((program) => {
    const { usedGpuSeconds, runningGpus, pendingGpus } = seen.shares[program];
    const percent = Math.round(100 * parts[program]);
    return `${program} ${usedGpuSeconds.toFixed(1)} GPU-s (${percent} %; has ${runningGpus}, waits for ${pendingGpus})`;
  }).join(', ');
}

/** Looks each second until it is so, and tells each look; what `keep` does between two looks keeps both asking. */
export async function watchShares(
  options: DemoOptions,
  { what, secondsMax, isSo, keep }: Watched,
): Promise<readonly SeenShares[]> {
  const looks: SeenShares[] = [];
  const latest = performance.now() + secondsMax * 1000;
  for (;;) {
    options.signal.throwIfAborted();
    const seen = await sharesNow(options);
    looks.push(seen);
    options.say(`  ${sharesText(seen)}`);
    if (isSo(seen)) return looks;
    if (performance.now() > latest) {
      throw new CliError(`expected: ${what}, within ${secondsMax} s; seen: ${sharesText(seen)}`);
    }
    await keep(seen);
    await new Promise((resolve) => setTimeout(resolve, LOOK_MILLISECONDS));
  }
}

/** The two have half of it each, but for so much, and have had for a while. One look that differs starts the while anew. */
export function staysLevel(within: number, holdSeconds: number): (seen: SeenShares) => boolean {
  let since: number | null = null;
  return (seen) => {
    const at = Date.parse(seen.at);
    since = Math.abs(greedyShare(seen) - 0.5) <= within ? (since ?? at) : null;
    return since !== null && at - since >= holdSeconds * 1000;
  };
}
