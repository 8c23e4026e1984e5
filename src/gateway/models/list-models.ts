import { answerOf } from './model-answers.js';
import type { ModelEntry } from './model-entry.js';

/** OpenAI's model, with what a request for it would be told now. */
export interface ListedModel {
  readonly id: string;
  readonly object: 'model';
  /** Seconds since 1970: since when it is in its state. */
  readonly created: number;
  readonly owned_by: string;
  /** `active`, or the code of the answer. */
  readonly state: string;
  readonly reason: string | null;
  readonly retryAfterSeconds?: number;
}

export function listed(entry: ModelEntry): ListedModel {
  const { route } = entry;
  const answer = answerOf(entry, false);
  return {
    ...{
      id: route.modelName,
      object: 'model',
      created: Math.floor(route.phaseSinceMs / 1000),
      owned_by: route.project,
    },
    state: answer.kind === 'forward' ? 'active' : answer.code,
    reason: answer.kind === 'forward' ? null : route.reason,
    ...('retryAfterSeconds' in answer ? { retryAfterSeconds: answer.retryAfterSeconds } : {}),
  };
}
