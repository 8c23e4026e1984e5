import type { EndCause, StartFailure } from '../contract/index.js';
import { ContainerFailure, type FailureKind } from '../docker/failures.js';

/** The request or the machine cannot start this kernel: the ledger must know the cause, and trying again here is no use. */
export class StartRefused extends Error {
  override readonly name = 'StartRefused';
  readonly failure: StartFailure;
  constructor(failure: StartFailure) {
    super(failure.message);
    this.failure = failure;
  }
}

/** The placement has ended, or its deadline has passed: nothing may be created for it any more. */
export class PlacementOver extends Error {
  override readonly name = 'PlacementOver';
}

/** Kinds without a cause are tried again: the engine is away, and what it will say is not known. */
const CAUSES: Readonly<Partial<Record<FailureKind, EndCause>>> = {
  image_not_found: 'bad-image',
  registry_auth: 'bad-image',
  pull_failed: 'pull-failed',
  bad_command: 'bad-command',
  bad_request: 'bad-command',
  bad_mount: 'folder-refused',
  port_taken: 'port-taken',
  device_unavailable: 'device-unavailable',
  out_of_memory: 'out-of-memory',
  name_conflict: 'engine-failed',
  no_such_container: 'engine-failed',
  engine_error: 'engine-failed',
};

/** Undefined: not a failure of this start, so the same start is tried again. */
export function startFailureOf(error: unknown): StartFailure | undefined {
  if (error instanceof StartRefused) return error.failure;
  if (!(error instanceof ContainerFailure)) return undefined;
  const cause = CAUSES[error.kind];
  return cause === undefined ? undefined : { cause, whose: error.whose, message: error.message };
}
