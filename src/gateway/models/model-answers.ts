import { type GatewayAnswer, gatewayAnswer, type Serving } from '../../models/gateway-answer.js';
import type { ModelRoute } from '../../store/model-store.js';
import type { Refusal } from './key-limits.js';
import type { ModelEntry } from './model-entry.js';
import type { OpenAiError } from './openai-error.js';

/** What a request for this model gets now. `isRefused`: its engines take no connection, whatever the route says. */
export function answerOf(entry: ModelEntry, isRefused: boolean): GatewayAnswer {
  const { route } = entry;
  const nowMs = Date.now();
  const hasTargets = entry.targets.length > 0;
  const serving = route.serving === 'Active' && !hasTargets ? 'EngineStarting' : (route.serving as Serving);
  const seconds = { startSeconds: route.startSeconds, wakeSeconds: route.wakeSeconds };
  const elapsedSeconds = Math.max(0, (nowMs - entry.waitsSince(nowMs)) / 1000);
  if (isRefused && serving === 'Active') return gatewayAnswer('EngineFailed', seconds, 0);
  // A reason that this build does not know, from a newer one's ledger.
  return gatewayAnswer(serving, seconds, elapsedSeconds) ?? UNKNOWN_REASON;
}

const UNKNOWN_REASON: GatewayAnswer = { kind: 'unavailable', code: 'unavailable', retryAfterSeconds: 30 };

export function unavailable(route: ModelRoute, answer: Exclude<GatewayAnswer, { kind: 'forward' }>): OpenAiError {
  const { serving, reason } = route;
  const why = reason === null ? '' : `: ${reason}`;
  const shared = {
    status: 503,
    code: answer.code,
    type: 'service_unavailable_error',
    param: 'model',
    reason: serving,
    reasonMessage: reason,
  } as const;
  if (answer.kind === 'never') {
    const message = `The model ${route.modelName} cannot be served (${serving})${why}. Retrying does not help.`;
    return { ...shared, message, shouldRetry: false };
  }
  const { retryAfterSeconds } = answer;
  const message = `The model ${route.modelName} does not serve now (${serving})${why}. Retry in ${retryAfterSeconds} s.`;
  return { ...shared, message, retryAfterSeconds, shouldRetry: true };
}

/** The same whether there is no such model, or it is not the key's to know. */
export const noModel = (modelName: string): OpenAiError => ({
  status: 404,
  code: 'model_not_found',
  type: 'invalid_request_error',
  param: 'model',
  message: `The model ${JSON.stringify(modelName.slice(0, 128))} does not exist, or this key may not use it.`,
});

/** `headers`: what is left, flat. */
export const rateLimited = (
  { what, perMinute, retryAfterSeconds }: Refusal,
  headers: readonly string[],
): OpenAiError => ({
  status: 429,
  code: 'rate_limited',
  type: 'rate_limit_error',
  message: `This key may use ${perMinute} ${what} a minute. Retry in ${retryAfterSeconds} s.`,
  retryAfterSeconds,
  shouldRetry: true,
  headers: Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : []))),
});

export const NO_KEY: OpenAiError = {
  status: 401,
  code: 'invalid_api_key',
  type: 'authentication_error',
  message: 'Send an API key of Berth: Authorization: Bearer berth_…; this one is missing, unknown, revoked or expired.',
  shouldRetry: false,
  headers: { 'www-authenticate': 'Bearer realm="berth"' },
};

/** A key that only reads uses nothing up: no GPU time, no tokens. */
export const ONLY_READS: OpenAiError = {
  status: 403,
  code: 'key_scope',
  type: 'permission_error',
  message:
    'This key may only read (its scope is "read"): it lists models, and asks none. Make one for models: berth key create NAME --scope models.',
  shouldRetry: false,
};

export const KEYS_AWAY: OpenAiError = {
  status: 503,
  code: 'unavailable',
  type: 'service_unavailable_error',
  message: 'Keys cannot be checked now: the database does not answer.',
  retryAfterSeconds: 5,
  shouldRetry: true,
};

const invalid = (status: number, code: string, message: string): OpenAiError => ({
  ...{ status, code, message },
  type: 'invalid_request_error',
  shouldRetry: false,
});

export const NO_PATH = invalid(
  404,
  'not_found',
  'There is no such path; models are served at /v1/chat/completions, /v1/completions and /v1/embeddings, and listed at /v1/models.',
);
export const wrongMethod = (allow: string): OpenAiError => ({
  ...invalid(405, 'method_not_allowed', `This path takes ${allow}.`),
  headers: { allow },
});
export const NOT_JSON = invalid(400, 'invalid_json', 'The body is not a JSON object.');
export const NO_MODEL_NAMED: OpenAiError = {
  ...invalid(400, 'missing_model', 'The body names no model.'),
  param: 'model',
};
export const ENCODED = invalid(415, 'unsupported_encoding', 'The body must come without a content encoding.');
export const SLOW_BODY = invalid(408, 'request_timeout', 'The body did not come in time.');
export const tooLarge = (bodyMaxBytes: number): OpenAiError =>
  invalid(413, 'request_too_large', `A body may have ${bodyMaxBytes} bytes.`);

const upstream = (message: string): OpenAiError => ({
  status: 502,
  code: 'upstream_failed',
  type: 'server_error',
  message,
  shouldRetry: true,
});
export const DIED = upstream('The engine closed the connection before its answer was whole.');
export const DIED_STREAMING = upstream(
  'The engine closed the connection in the middle of the stream; what came before stands.',
);
export const REFUSED_US = upstream('The engine refused the gateway itself.');
export const SAID_NOTHING = upstream('The engine failed and said nothing.');
export const CLOSING: OpenAiError = {
  status: 503,
  code: 'unavailable',
  type: 'service_unavailable_error',
  message: 'This gateway ends; ask again.',
  retryAfterSeconds: 1,
  shouldRetry: true,
  headers: { connection: 'close' },
};
export const BROKEN: OpenAiError = {
  status: 500,
  code: 'internal',
  type: 'server_error',
  message: "The gateway failed; its log says more under this request's id.",
};
