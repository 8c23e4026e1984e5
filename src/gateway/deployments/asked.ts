import { answerOf, unavailable } from '../models/model-answers.js';
import type { OpenAiError } from '../models/openai-error.js';
import type { DeploymentEntry } from './deployment-entry.js';

/** A deployment is told of at once so often, however many ask for it; with the usual reports all are told. */
const EACH_MS = 1_000;

/** A request that nothing serves: at zero it wakes. `tell` sends the report at once. */
export function askedInVain(entry: DeploymentEntry, tell: () => void): void {
  const nowMs = Date.now();
  if (entry.deployment.state !== 'IDLE' || nowMs - entry.askedMs < EACH_MS) return;
  entry.asked(nowMs);
  tell();
}

/** 503, its reason and its Retry-After, in the model gateway's words. */
export function whyNotServing(entry: DeploymentEntry): OpenAiError {
  const answer = answerOf(entry, entry.isServing);
  return unavailable(entry.route, answer.kind === 'forward' ? REFUSED : answer);
}

const REFUSED = { kind: 'unavailable', code: 'engine_failed', retryAfterSeconds: 1 } as const;
