import type { ModelClaim } from '../contract/index.js';
import { exactBytes } from './exact-bytes.js';
import { formatSeconds } from './format-amounts.js';
import { modelWhyText } from './model-why-text.js';

/** A claim for people: how it stands and why, then what it was claimed with. */
export function modelText(claim: ModelClaim, now: Date): string {
  const { artifactUrl, engine, args, priority, kvMaxBytes, replicas, gpusPerInstance, pinned } = claim;
  return [
    modelWhyText(claim, now),
    `  artifact ${artifactUrl}`,
    `  engine   ${engine}${args.length === 0 ? '' : ` ${args.join(' ')}`}`,
    `  size     ${replicas} × ${gpusPerInstance} GPUs, priority ${priority}${kvMaxBytes === null ? '' : `, KV at most ${exactBytes(kvMaxBytes)}`}`,
    `  sleep    ${pinned || claim.sleep.never ? 'never' : sleepText(claim)}`,
    `  pool ${claim.pool}, project ${claim.project}, ${claim.id}`,
  ].join('\n');
}

function sleepText({ sleep }: ModelClaim): string {
  const after = sleep.afterSeconds === null ? 'as the pool says' : `after ${formatSeconds(sleep.afterSeconds)}`;
  const awake =
    sleep.minimumAwakeSeconds === null ? '' : `, awake for at least ${formatSeconds(sleep.minimumAwakeSeconds)}`;
  return `${after}${awake}`;
}
