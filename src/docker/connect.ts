import Docker from 'dockerode';

export interface EngineAddress {
  /** Path of the engine's socket. Without one, DOCKER_HOST and the usual places are tried. */
  readonly socketPath?: string;
}

/**
 * No API version is pinned: engine 20.10 speaks 1.41 at most, engine 29 refuses anything below 1.44, and an
 * unversioned path is answered by both with their own newest. Only fields that all of them share are read.
 */
export function connectDocker({ socketPath }: EngineAddress = {}): Docker {
  return socketPath === undefined ? new Docker() : new Docker({ socketPath });
}
