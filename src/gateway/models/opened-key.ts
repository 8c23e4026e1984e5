import type { Logger } from '../../platform/log.js';
import type { TargetPlace } from './target.js';

export interface OpenedKeyDeps {
  /** Opens what was sealed to an instance. */
  readonly openApiKey: (sealed: Buffer, instanceId: string) => string;
  readonly log: Logger;
}

/** An engine whose key cannot be opened refuses; the others go on. Null: it asks for none. */
export function openedKey(
  { sealedApiKey, instanceId }: Pick<TargetPlace, 'sealedApiKey' | 'instanceId'>,
  { openApiKey, log }: OpenedKeyDeps,
): string | null {
  if (sealedApiKey === null) return null;
  try {
    return openApiKey(sealedApiKey, instanceId);
  } catch (error) {
    log.error({ err: error, instanceId }, "an engine's key could not be opened");
    return 'unknown';
  }
}
