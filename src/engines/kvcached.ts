import type { EngineLaunch } from './engine-adapter.js';

/** Berth's own go last: a pool's environment cannot take an engine out of its limit. */
export const kvcachedEnvironment = ({
  segment,
  parallel,
}: Pick<EngineLaunch, 'segment' | 'parallel'>): Readonly<Record<string, string>> => ({
  ENABLE_KVCACHED: 'true',
  KVCACHED_AUTOPATCH: '1',
  KVCACHED_IPC_NAME: segment,
  ...(parallel.pipeline > 1 && { KVCACHED_PP_SIZE: String(parallel.pipeline) }),
});
