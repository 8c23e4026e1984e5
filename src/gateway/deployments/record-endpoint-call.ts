import type { DeploymentDeskDeps } from './deployment-desk.js';
import type { EndpointCall } from './endpoint-call.js';
import { deploymentPath } from './paths.js';

type Recorded = Pick<
  EndpointCall,
  'entry' | 'known' | 'status' | 'firstByteMs' | 'startedMs' | 'requestId' | 'revision' | 'request'
>;

/** Metrics and the access log's line of a request that is over: who, what, how long; never a query, a body or a secret. */
export function recordEndpointCall(
  call: Recorded,
  { metrics, accessLog }: Pick<DeploymentDeskDeps, 'metrics' | 'accessLog'>,
): void {
  const { entry, known, status, firstByteMs, startedMs, requestId, revision, request } = call;
  const nowMs = performance.now();
  const path = deploymentPath(request.url ?? '/');
  const deployment = entry === null ? '' : (path?.name ?? '');
  metrics.answered(deployment, status, (nowMs - startedMs) / 1000);
  if (firstByteMs !== null) metrics.firstByte(deployment, (firstByteMs - startedMs) / 1000);
  accessLog.info({
    ...{ requestId, key: known?.key.keyId ?? null, method: request.method, deployment, revision, status },
    path: (path?.path ?? '').split('?', 1)[0],
    ms: rounded(nowMs - startedMs),
    firstByteMs: firstByteMs === null ? null : rounded(firstByteMs - startedMs),
  });
}

const rounded = (milliseconds: number): number => Math.round(milliseconds * 10) / 10;
