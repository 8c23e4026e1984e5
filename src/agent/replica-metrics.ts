import { request } from 'undici';
import type { LaunchOrder, ReplicaMetrics as ToldMetrics } from '../contract/index.js';
import type { Logger } from '../platform/log.js';
import type { AgentApi } from './api-client.js';
import { type KernelContainer, runKey } from './kernel-container.js';
import { containerUrl } from './probe-once.js';
import { seriesOf } from './prometheus-text.js';
import { pause } from './retry.js';
import { within } from './within.js';

export type MetricsOrder = NonNullable<LaunchOrder['metrics']>;
type Read = ToldMetrics['replicas'][number];

/** Figures of this node's replicas, read as Prometheus reads them, told in batches. What cannot be read is missing; nothing is kept. */
export interface ReplicaMetrics {
  /** From now on, until aborted. */
  readonly read: (kernel: KernelContainer, order: MetricsOrder, signal: AbortSignal) => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

export interface ReplicaMetricsDeps {
  readonly api: Pick<AgentApi, 'replicaMetrics'>;
  readonly log: Logger;
}

interface Replica {
  readonly kernel: KernelContainer;
  readonly order: MetricsOrder;
  dueMs: number;
}

const LOOK_EVERY_MS = 1_000;
const ANSWER_MS_MAX = 3_000;
const TEXT_BYTES_MAX = 4 * 2 ** 20;
const SERIES_MAX = 400;
const AT_ONCE = 16;
/** So many series are some 30 kB of JSON; an API takes 1 MiB. */
const BATCH_REPLICAS_MAX = 20;

export function createReplicaMetrics({ api, log }: ReplicaMetricsDeps): ReplicaMetrics {
  const replicas = new Map<string, Replica>();
  let isTold = true;
  const tell = async (read: readonly Read[], signal: AbortSignal): Promise<void> => {
    try {
      for (let at = 0; at < read.length; at += BATCH_REPLICAS_MAX) {
        await api.replicaMetrics({ replicas: read.slice(at, at + BATCH_REPLICAS_MAX) }, signal);
      }
      isTold = true;
    } catch (error) {
      if (isTold && !signal.aborted) log.warn({ err: error }, 'figures of replicas were not told; newer ones follow');
      isTold = false;
    }
  };
  return {
    read: (kernel, order, signal) => {
      if (signal.aborted) return;
      const key = runKey(kernel);
      replicas.set(key, { kernel, order, dueMs: 0 });
      signal.addEventListener('abort', () => replicas.delete(key), { once: true });
    },
    run: async (signal) => {
      while (!signal.aborted) {
        const read = await readDue([...replicas.values()], signal);
        if (read.length > 0) await tell(read, signal);
        await pause(LOOK_EVERY_MS, signal);
      }
    },
  };
}

async function readDue(replicas: readonly Replica[], signal: AbortSignal): Promise<readonly Read[]> {
  const nowMs = performance.now();
  const due = replicas.filter(({ dueMs }) => dueMs <= nowMs);
  for (const replica of due) replica.dueMs = nowMs + replica.order.everySeconds * 1000;
  const read: Read[] = [];
  for (let at = 0; at < due.length; at += AT_ONCE) {
    const some = await Promise.all(due.slice(at, at + AT_ONCE).map((replica) => readOne(replica, signal)));
    read.push(...some.filter((one) => one !== undefined));
  }
  return read;
}

/** Undefined: it does not answer (yet), or not with figures. */
async function readOne({ kernel, order }: Replica, signal: AbortSignal): Promise<Read | undefined> {
  const url = containerUrl(kernel.container, order);
  if (url === undefined) return undefined;
  try {
    const text = await within(ANSWER_MS_MAX, signal, (until) => metricsText(url, until));
    const values = Object.fromEntries(seriesOf(text, SERIES_MAX));
    return Object.keys(values).length === 0
      ? undefined
      : { kernelId: kernel.kernelId, attempt: kernel.attempt, values };
  } catch {
    return undefined; // a replica that still starts, or that is busy: its figures are missing meanwhile
  }
}

async function metricsText(url: string, signal: AbortSignal): Promise<string> {
  const { statusCode, body } = await request(url, { signal, reset: true, headers: { accept: 'text/plain' } });
  if (statusCode === 200) return textOf(body);
  body.on('error', () => undefined).destroy();
  return '';
}

/** Half of a text would make sums too small: more than the most is none at all. */
async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of body) {
    bytes += part.length;
    if (bytes > TEXT_BYTES_MAX) throw new RangeError('the metrics are too long');
    parts.push(part);
  }
  return Buffer.concat(parts).toString('utf8');
}
