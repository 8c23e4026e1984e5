import type Docker from 'dockerode';
import { containerConfig } from './container-config.js';
import type { ContainerSpec } from './container-spec.js';
import { hasStatus } from './engine-error.js';
import { ContainerFailure, classify } from './failures.js';
import { inspect } from './inspect.js';
import { SPEC_HASH_LABEL, specHash } from './spec-hash.js';

/**
 * A second call with an equal spec finds the first one's container, whatever that has done since; another spec under
 * the same name is a `name_conflict`. The image must be there (`pull`), else `image_not_found`.
 */
export async function ensureCreated(docker: Docker, spec: ContainerSpec): Promise<{ readonly id: string }> {
  try {
    const { id } = await docker.createContainer(containerConfig(spec));
    return { id };
  } catch (error) {
    if (hasStatus(error, 409)) return existing(docker, spec);
    throw classify(error, Object.values(spec.environment));
  }
}

async function existing(docker: Docker, spec: ContainerSpec): Promise<{ readonly id: string }> {
  const state = await inspect(docker, spec.name);
  if (state?.labels[SPEC_HASH_LABEL] === specHash(spec)) return { id: state.id };
  throw new ContainerFailure('name_conflict', spec.name);
}
