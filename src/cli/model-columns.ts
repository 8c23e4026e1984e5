import type { ModelClaim, ModelEvent, ModelKeyLimits, ModelUsage } from '../contract/index.js';
import { exactBytes, exactOr } from './exact-bytes.js';
import { formatAge } from './format-amounts.js';
import type { Shown } from './output.js';

/** GPUs that it is on, each once. */
const gpusOf = ({ instances }: ModelClaim): string =>
  [...new Set(instances.flatMap(({ gpus }) => gpus))].join(',') || '-';

const limitOf = ({ instances }: ModelClaim): string =>
  [...new Set(instances.flatMap(({ limitBytes }) => (limitBytes === null ? [] : [exactBytes(limitBytes)])))].join(
    ',',
  ) || '-';

/** Requests that run and wait, over its engines; `?` where one could not be read. */
function loadOf({ instances }: ModelClaim): string {
  const awake = instances.filter(({ phase }) => phase === 'ACTIVE');
  if (awake.length === 0) return '-';
  const sum = (of: 'running' | 'waiting'): string =>
    awake.some((instance) => instance[of] === null)
      ? '?'
      : String(awake.reduce((all, each) => all + (each[of] ?? 0), 0));
  return `${sum('running')}+${sum('waiting')}`;
}

export const MODEL: Shown<ModelClaim> = {
  none: 'no models; claim one: berth model claim --help',
  nameOf: ({ modelName }) => modelName,
  idOf: ({ id }) => id,
  columns: [
    { head: 'NAME', of: ({ modelName }) => modelName },
    { head: 'PHASE', of: ({ phase }) => phase },
    { head: 'WHY', of: ({ reason }) => reason?.code ?? '' },
    { head: 'POOL', of: ({ pool }) => pool },
    { head: 'GPU', of: gpusOf },
    { head: 'FOOTPRINT', of: ({ maximumFootprintBytes }) => exactBytes(maximumFootprintBytes) },
    { head: 'KV-FLOOR', of: ({ kvFloorBytes, kvMinBytes }) => exactBytes(Math.max(kvFloorBytes, kvMinBytes ?? 0)) },
    { head: 'KV-LIMIT', of: limitOf },
    { head: 'LOAD', of: loadOf },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'AGE', of: ({ createdAt }, now) => formatAge(createdAt, now) },
    { head: 'PRIORITY', of: ({ priority }) => String(priority), isWide: true },
    { head: 'REPLICAS', of: ({ replicas }) => String(replicas), isWide: true },
    { head: 'GPUS-EACH', of: ({ gpusPerInstance }) => String(gpusPerInstance), isWide: true },
    { head: 'KV-MAX', of: ({ kvMaxBytes }) => exactOr(kvMaxBytes), isWide: true },
    { head: 'ENGINE', of: ({ engine }) => engine, isWide: true },
    { head: 'ARTIFACT', of: ({ artifactUrl }) => artifactUrl, isWide: true },
    { head: 'ID', of: ({ id }) => id, isWide: true },
    { head: 'MESSAGE', of: ({ reason }) => reason?.message ?? '', isWide: true },
  ],
};

export const MODEL_EVENT: Shown<ModelEvent> = {
  none: 'nothing happened yet',
  nameOf: ({ id }) => String(id),
  idOf: ({ id }) => String(id),
  columns: [
    { head: 'TIME', of: ({ at }) => at },
    { head: 'KIND', of: ({ kind }) => kind },
    { head: 'FROM', of: ({ from }) => from ?? '' },
    { head: 'TO', of: ({ to }) => to ?? '' },
    { head: 'WHY', of: ({ reason }) => reason ?? '' },
    { head: 'BY', of: ({ actor }) => actor },
    { head: 'MESSAGE', of: ({ message }) => message },
    { head: 'ENGINE', of: ({ instanceId }) => instanceId ?? '', isWide: true },
  ],
};

export const MODEL_USAGE: Shown<ModelUsage> = {
  none: 'nothing was used',
  nameOf: ({ model }) => model,
  idOf: ({ keyId }) => keyId,
  columns: [
    { head: 'MODEL', of: ({ model }) => model },
    { head: 'HOUR', of: ({ hour }) => hour },
    { head: 'PROJECT', of: ({ project }) => project },
    { head: 'KEY', of: ({ keyId }) => keyId },
    { head: 'REQUESTS', of: ({ requests }) => String(requests) },
    { head: 'FAILED', of: ({ failed }) => String(failed) },
    { head: 'TOKENS-IN', of: ({ promptTokens }) => String(promptTokens) },
    { head: 'TOKENS-OUT', of: ({ completionTokens }) => String(completionTokens) },
  ],
};

const rate = (limit: number | null): string => (limit === null ? 'no limit' : String(limit));

export const MODEL_KEY: Shown<ModelKeyLimits> = {
  nameOf: ({ keyId }) => keyId,
  idOf: ({ keyId }) => keyId,
  columns: [
    { head: 'KEY', of: ({ keyId }) => keyId },
    { head: 'MODELS', of: ({ models }) => (models === null ? 'all' : models.join(',') || 'none') },
    { head: 'REQUESTS/MIN', of: ({ requestsPerMinute }) => rate(requestsPerMinute) },
    { head: 'TOKENS/MIN', of: ({ tokensPerMinute }) => rate(tokensPerMinute) },
  ],
};
