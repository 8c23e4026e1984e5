import type { SimulationResult } from './run-simulation.js';
import type { HeldSpan, SimulatedJob } from './simulated-job.js';
import { windowOf } from './summarize.js';
import { quantile } from './wait-figures.js';

/** How long a host takes to become empty once it is marked, nothing new being placed on it. Hours, over samples of hosts that have work. */
export interface HostEmptying {
  readonly samples: number;
  /** Nobody is stopped: until the last of those on it has ended by itself. */
  readonly byItself: EmptyFigures;
  /** By the contract: each is stopped when its minimum runtime is over. Those that may not be stopped are waited for. */
  readonly byContract: EmptyFigures;
}

export interface EmptyFigures {
  readonly medianHours: number | null;
  readonly maxHours: number | null;
  /** Repairs that need somebody who talks to owners: the host was not empty within the limit. */
  readonly overLimit: number;
}

const HOUR_MS = 3_600_000;
const GRACE_MS = 10_000;
const SAMPLES = 24;

/** At moments evenly spread over the time in which jobs came, every host that has work is asked. */
export function hostEmptying({ outcomes }: SimulationResult, limitHours: number): HostEmptying {
  const { fromMs, toMs } = windowOf(outcomes);
  const byItself: number[] = [];
  const byContract: number[] = [];
  for (let k = 1; k <= SAMPLES; k += 1) {
    const atMs = fromMs + ((toMs - fromMs) * k) / (SAMPLES + 1);
    const hosts = new Map<string, { itself: number; contract: number }>();
    for (const { job, held } of outcomes) {
      const span = held.find((one) => one.fromMs <= atMs && atMs < one.toMs);
      for (const node of span?.nodes ?? []) {
        const known = hosts.get(node) ?? { itself: 0, contract: 0 };
        known.itself = Math.max(known.itself, (span as HeldSpan).toMs - atMs);
        known.contract = Math.max(known.contract, contractMs(job, span as HeldSpan, atMs));
        hosts.set(node, known);
      }
    }
    for (const { itself, contract } of hosts.values()) {
      byItself.push(itself / HOUR_MS);
      byContract.push(contract / HOUR_MS);
    }
  }
  return {
    samples: byItself.length,
    byItself: figuresOf(byItself, limitHours),
    byContract: figuresOf(byContract, limitHours),
  };
}

function contractMs(job: SimulatedJob, { fromMs, toMs }: HeldSpan, atMs: number): number {
  if (!job.preemptible) return toMs - atMs;
  return Math.min(toMs - atMs, Math.max(0, fromMs + job.minRuntimeMs - atMs) + GRACE_MS);
}

function figuresOf(hours: readonly number[], limitHours: number): EmptyFigures {
  const ascending = hours.toSorted((a, b) => a - b);
  return {
    medianHours: quantile(ascending, 0.5),
    maxHours: ascending.at(-1) ?? null,
    overLimit: ascending.filter((one) => one > limitHours).length,
  };
}
