import type { NodeReport } from '../contract/index.js';
import type { Logger } from '../platform/log.js';
import type { AgentMetrics } from './agent-metrics.js';
import { type AgentApi, ApiFailure } from './api-client.js';
import { runKey } from './kernel-container.js';
import { pause } from './retry.js';

/**
 * Reports on their way to the API. Each is sent again until it is acknowledged; a newer one of the same kind and run
 * takes the place of one that still waits. In memory only: after a restart, exits, ports and health are found anew.
 */
export interface Outbox {
  /** Resolves once the API has taken it (or a newer one in its place) in. */
  readonly post: (report: NodeReport) => Promise<void>;
  /** Sends until aborted. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  readonly waiting: () => number;
}

export interface OutboxDeps {
  readonly api: Pick<AgentApi, 'report'>;
  readonly metrics: AgentMetrics;
  readonly log: Logger;
}

interface Entry {
  readonly report: NodeReport;
  readonly acknowledged: (() => void)[];
}

const BATCH_REPORTS_MAX = 100;
/** Below what an HTTP server takes by default (1 MiB), with room for escaping. */
const BATCH_CHARACTERS_MAX = 400_000;
const BACK_OFF_MS = { first: 200, most: 5_000 } as const;

export function createOutbox(deps: OutboxDeps): Outbox {
  const entries = new Map<string, Entry>();
  let wake: () => void = () => undefined;
  return {
    waiting: () => entries.size,
    post: (report) =>
      new Promise((resolve) => {
        const key = `${report.kind} ${runKey(report)}`;
        const waiting = entries.get(key)?.acknowledged ?? [];
        entries.delete(key);
        entries.set(key, { report, acknowledged: [...waiting, resolve] });
        wake();
      }),
    run: async (signal) => {
      let backOffMs: number = BACK_OFF_MS.first;
      signal.addEventListener('abort', () => wake(), { once: true });
      while (!signal.aborted) {
        if (entries.size === 0) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
          continue;
        }
        if (await sendBatch(deps, entries, signal)) backOffMs = BACK_OFF_MS.first;
        else {
          await pause(backOffMs, signal);
          backOffMs = Math.min(backOffMs * 2, BACK_OFF_MS.most);
        }
      }
    },
  };
}

/** False: nothing was acknowledged, try again later. An entry that was replaced while it was on its way stays. */
async function sendBatch(deps: OutboxDeps, entries: Map<string, Entry>, signal: AbortSignal): Promise<boolean> {
  const batch = nextBatch(entries);
  try {
    const results = await deps.api.report(
      batch.map(([, { report }]) => report),
      signal,
    );
    for (const { kernelId, accepted, detail } of results) {
      if (!accepted) deps.log.info({ kernelId, detail }, 'the ledger did not need this report');
    }
    settle(entries, batch);
    return true;
  } catch (error) {
    if (signal.aborted) return false;
    deps.metrics.reportFailures.inc();
    if (!(error instanceof ApiFailure) || !error.isRefusal) {
      deps.log.warn({ err: error, reports: batch.length }, 'the API did not take reports; they wait');
      return false;
    }
    return await sendOneByOne(deps, { entries, batch }, signal);
  }
}

/** The API refuses the batch as a whole: one bad report must not hold up the others for ever. */
async function sendOneByOne(
  deps: OutboxDeps,
  { entries, batch }: { readonly entries: Map<string, Entry>; readonly batch: readonly (readonly [string, Entry])[] },
  signal: AbortSignal,
): Promise<boolean> {
  for (const item of batch) {
    const { report } = item[1];
    try {
      await deps.api.report([report], signal);
    } catch (error) {
      if (!(error instanceof ApiFailure) || !error.isRefusal) return false;
      const { kind, kernelId, attempt } = report;
      deps.log.error({ err: error, kind, kernelId, attempt }, 'the API refuses this report; it is dropped');
    }
    settle(entries, [item]);
  }
  return true;
}

function nextBatch(entries: ReadonlyMap<string, Entry>): (readonly [string, Entry])[] {
  const batch: (readonly [string, Entry])[] = [];
  let characters = 0;
  for (const item of entries) {
    characters += JSON.stringify(item[1].report).length;
    if (batch.length > 0 && (batch.length >= BATCH_REPORTS_MAX || characters > BATCH_CHARACTERS_MAX)) break;
    batch.push(item);
  }
  return batch;
}

function settle(entries: Map<string, Entry>, batch: readonly (readonly [string, Entry])[]): void {
  for (const [key, entry] of batch) {
    if (entries.get(key) !== entry) continue;
    entries.delete(key);
    for (const resolve of entry.acknowledged) resolve();
  }
}
