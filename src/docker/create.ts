import type Docker from 'dockerode';
import { containerConfig } from './container-config.js';
import type { ContainerSpec } from './container-spec.js';
import { hasStatus } from './engine-error.js';
import { ContainerFailure, classify } from './failures.js';
import { inspect } from './inspect.js';
import { isAmbiguous } from './networks.js';
import { SPEC_HASH_LABEL, specHash } from './spec-hash.js';

/**
 * A second call with an equal spec finds the first one's container, whatever that has done since; another spec under
 * the same name is a `name_conflict`. The image must be there (`pull`), else `image_not_found`.
 */
export async function ensureCreated(docker: Docker, spec: ContainerSpec): Promise<{ readonly id: string }> {
  for (let tries = 0; tries < CREATE_TRIES_MAX; tries += 1) {
    const id = (await tryCreate(docker, spec)) ?? (await existing(docker, spec));
    if (id !== undefined) return { id };
    await new Promise((resolve) => setTimeout(resolve, CREATE_PAUSE_MILLISECONDS));
  }
  throw new ContainerFailure(
    'engine_error',
    `the name ${spec.name} is neither free nor in use, or its network is there twice`,
  );
}

const CREATE_TRIES_MAX = 50;
const CREATE_PAUSE_MILLISECONDS = 100;

/** Undefined when the name is taken, or that of its network is another one's too for the moment. */
async function tryCreate(docker: Docker, spec: ContainerSpec): Promise<string | undefined> {
  try {
    const { id } = await docker.createContainer(containerConfig(spec));
    return id;
  } catch (error) {
    if (hasStatus(error, 409) || isAmbiguous(error)) return undefined;
    throw classify(error, Object.values(spec.environment));
  }
}

/** Undefined when there is nothing of that name yet: the engine reserves a name before its container can be seen. */
async function existing(docker: Docker, spec: ContainerSpec): Promise<string | undefined> {
  const state = await inspect(docker, spec.name);
  if (state === undefined || state.labels[SPEC_HASH_LABEL] === specHash(spec)) return state?.id;
  throw new ContainerFailure('name_conflict', spec.name);
}
