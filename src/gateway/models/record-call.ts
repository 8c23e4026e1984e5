import type { Call } from './call.js';
import type { ModelDeskDeps } from './model-desk.js';

/** Metrics, usage and the access log's line of a request that is over. */
export function recordCall(
  call: Call,
  { metrics, usage, accessLog }: Pick<ModelDeskDeps, 'metrics' | 'usage' | 'accessLog'>,
): void {
  const { entry, known, status, tokens, firstByteMs, startedMs } = call;
  const nowMs = performance.now();
  const model = entry?.route.modelName ?? '';
  metrics.answered(model, status, (nowMs - startedMs) / 1000);
  if (firstByteMs !== null) metrics.firstByte(model, (firstByteMs - startedMs) / 1000);
  if (call.isForwarded && entry !== null && known !== null) {
    const { prompt, completion } = tokens ?? NOTHING;
    const { hasFailed } = call;
    const { keyId } = known.key;
    const project = known.projectFor(entry.route);
    known.limits.answered(prompt + completion, nowMs);
    metrics.tokens(model, prompt, completion);
    usage.add({ keyId, project, model, hasFailed, promptTokens: prompt, completionTokens: completion });
  }
  accessLog.info({
    requestId: call.requestId,
    key: known?.key.keyId ?? null,
    path: call.path,
    model,
    status,
    ms: rounded(nowMs - startedMs),
    firstByteMs: firstByteMs === null ? null : rounded(firstByteMs - startedMs),
    promptTokens: tokens?.prompt ?? null,
    completionTokens: tokens?.completion ?? null,
  });
}

const NOTHING = { prompt: 0, completion: 0 };
const rounded = (milliseconds: number): number => Math.round(milliseconds * 10) / 10;
