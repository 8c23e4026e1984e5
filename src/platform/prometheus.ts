import type { MetricAnswer } from '../deployments/scale-turn.js';

export interface PrometheusOptions {
  /** Where `/api/v1/query` is; undefined: there is no Prometheus, and each answer is missing. */
  readonly url: string | undefined;
  readonly timeoutMs?: number;
}

const TIMEOUT_MS = 3_000;
const BODY_BYTES_MAX = 1_000_000;

/**
 * Asks Prometheus for one number: a scalar, or the first value of a vector. Whatever else comes of it is a missing value with its
 * reason, never an error: a rule whose metric is missing decides nothing.
 */
export function createPrometheus({
  url,
  timeoutMs = TIMEOUT_MS,
}: PrometheusOptions): (query: string) => Promise<MetricAnswer> {
  if (url === undefined) return async () => ({ missing: 'BERTH_PROMETHEUS_URL is not set' });
  const base = url.replace(/\/+$/, '');
  return async (query) => {
    try {
      const signal = AbortSignal.timeout(timeoutMs);
      const asked = await fetch(`${base}/api/v1/query?${new URLSearchParams({ query })}`, {
        signal,
        redirect: 'error',
      });
      return answerOf(asked.status, await readText(asked));
    } catch (error) {
      const isLate = error instanceof Error && error.name === 'TimeoutError';
      return {
        missing: isLate ? `Prometheus did not answer within ${timeoutMs / 1000} s` : 'Prometheus is not reachable',
      };
    }
  };
}

/** Its beginning: a query that answers with thousands of series is not read to its end. */
async function readText(answer: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of answer.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.length > BODY_BYTES_MAX) break;
  }
  return text;
}

interface Answered {
  readonly status?: unknown;
  readonly error?: unknown;
  readonly data?: { readonly resultType?: unknown; readonly result?: unknown };
}

function answerOf(status: number, text: string): MetricAnswer {
  const body = parse(text);
  if (body?.status !== 'success') {
    const why = typeof body?.error === 'string' ? `: ${body.error.slice(0, 200)}` : '';
    return { missing: `Prometheus answered ${status}${why}` };
  }
  const { resultType, result } = body.data ?? {};
  if (resultType !== 'scalar' && resultType !== 'vector')
    return { missing: `the query answers a ${String(resultType)}, not a number` };
  const sample = resultType === 'scalar' ? result : (result as readonly { readonly value?: unknown }[])[0]?.value;
  if (sample === undefined) return { missing: 'the query answers nothing' };
  const value = Number((sample as readonly unknown[])[1]);
  return Number.isFinite(value) ? { value } : { missing: 'the query answers no finite number' };
}

function parse(text: string): Answered | undefined {
  try {
    const body = JSON.parse(text) as unknown;
    return typeof body === 'object' && body !== null ? body : undefined;
  } catch {
    return undefined;
  }
}
