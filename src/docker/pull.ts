import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import type { RegistryAuth } from './container-spec.js';
import { ContainerFailure, classify } from './failures.js';
import { type ImageIdentity, imageDigest } from './images.js';
import { jsonLines } from './json-lines.js';
import { afterLine, type Layers, type PullLine, type PullProgress, progressOf } from './pull-progress.js';
import { createSharedWork } from './shared-work.js';

export const PULL_POLICIES = ['if-missing', 'always', 'never'] as const;
export type PullPolicy = (typeof PULL_POLICIES)[number];

export interface PullOptions {
  readonly policy?: PullPolicy;
  readonly auth?: RegistryAuth;
  readonly onProgress?: (progress: PullProgress) => void;
  /** Ends this caller's wait; the pull itself ends when nobody waits for it any more. */
  readonly signal?: AbortSignal;
}

export type Pull = (reference: string, options?: PullOptions) => Promise<ImageIdentity>;

/**
 * Brings an image to the engine; one that is there is success at once under `if-missing` (the default). All who ask
 * for one reference with the same credentials share one download.
 */
export function createPull(docker: Docker): Pull {
  const shared = createSharedWork<ImageIdentity, PullProgress>();
  return async (reference, options = {}) => {
    const policy = options.policy ?? 'if-missing';
    const present = policy === 'always' ? undefined : await imageDigest(docker, reference);
    if (present !== undefined) return present;
    if (policy === 'never' || reference.startsWith('sha256:')) throw new ContainerFailure('image_not_found', reference);
    return shared(shareKey(reference, options.auth), {
      start: (report, signal) => download(docker, { reference, auth: options.auth }, { report, signal }),
      onProgress: options.onProgress,
      signal: options.signal,
    });
  };
}

/** With the credentials: nobody may be failed by, or served on, another's password. The key never leaves memory. */
const shareKey = (reference: string, auth: RegistryAuth | undefined): string => JSON.stringify([reference, auth]);

interface Wanted {
  readonly reference: string;
  readonly auth: RegistryAuth | undefined;
}

interface Watch {
  readonly report: (progress: PullProgress) => void;
  readonly signal: AbortSignal;
}

async function download(
  docker: Docker,
  { reference, auth }: Wanted,
  { report, signal }: Watch,
): Promise<ImageIdentity> {
  const secrets = auth === undefined ? [] : [auth.password];
  try {
    const source = (await docker.pull(reference, {
      abortSignal: signal,
      ...(auth && { authconfig: authConfig(auth) }),
    })) as Readable;
    await follow(source, { report, signal });
    signal.throwIfAborted();
  } catch (error) {
    signal.throwIfAborted();
    throw pullFailure(error, reference, secrets);
  }
  const image = await imageDigest(docker, reference);
  if (image === undefined) throw new ContainerFailure('pull_failed', reference);
  return image;
}

const authConfig = ({ username, password, serverAddress }: RegistryAuth): Record<string, string> => ({
  username,
  password,
  ...(serverAddress !== undefined && { serveraddress: serverAddress }),
});

/** The engine answers 200 before it begins; what goes wrong afterwards is a line of the answer. */
async function follow(source: Readable, { report, signal }: Watch): Promise<void> {
  let layers: Layers = new Map();
  for await (const value of jsonLines(source, signal)) {
    const line = value as PullLine;
    if (line.error !== undefined) throw new Error(line.error);
    const after = afterLine(layers, line);
    if (after !== layers) report(progressOf(after));
    layers = after;
  }
}

/** What the engine says in other words while it pulls is still a pull that failed. */
function pullFailure(error: unknown, reference: string, secrets: readonly string[]): ContainerFailure {
  const failure = classify(error, secrets);
  const vague = failure.kind === 'engine_error' || failure.kind === 'bad_request';
  const kind = vague ? 'pull_failed' : failure.kind;
  return new ContainerFailure(kind, `${reference} (${failure.detail ?? ''})`);
}
