import { readEngineError } from './engine-error.js';
import { FAILURE_RULES, type FailureRule } from './failure-rules.js';

/**
 * What went wrong, as far as a caller reacts to it. `whose` says who can mend it: the `user` by another request, the
 * `platform` by another node or another try (then nothing of the attempt is charged).
 */
export const FAILURE_KINDS = {
  image_not_found: { whose: 'user', retryable: false, says: 'the image does not exist' },
  pull_failed: { whose: 'platform', retryable: true, says: 'the image could not be pulled' },
  registry_auth: { whose: 'user', retryable: false, says: 'the registry refused the credentials or the image' },
  port_taken: { whose: 'platform', retryable: true, says: 'a port of the node is already in use' },
  bad_command: { whose: 'user', retryable: false, says: 'the command cannot be run in this image' },
  bad_mount: { whose: 'platform', retryable: true, says: 'a folder could not be mounted' },
  device_unavailable: { whose: 'platform', retryable: true, says: 'the engine cannot hand out the devices' },
  out_of_memory: { whose: 'user', retryable: false, says: 'the memory limit is too small to start' },
  name_conflict: { whose: 'platform', retryable: false, says: 'the name is taken by another container' },
  no_such_container: { whose: 'platform', retryable: false, says: 'the container does not exist' },
  bad_request: { whose: 'user', retryable: false, says: 'the engine refused the request' },
  engine_unavailable: { whose: 'platform', retryable: true, says: 'the container engine does not answer' },
  engine_error: { whose: 'platform', retryable: true, says: 'the container engine failed' },
} as const satisfies Record<string, { whose: 'user' | 'platform'; retryable: boolean; says: string }>;
export type FailureKind = keyof typeof FAILURE_KINDS;

/**
 * The only error that leaves src/docker. The engine's own words are in `detail`, cut and without anything named in
 * `secrets`; the original error is dropped on purpose, since it may quote environment values.
 */
export class ContainerFailure extends Error {
  override readonly name = 'ContainerFailure';
  readonly kind: FailureKind;
  readonly whose: 'user' | 'platform';
  readonly retryable: boolean;
  readonly detail: string | undefined;

  constructor(kind: FailureKind, detail?: string) {
    const { whose, retryable, says } = FAILURE_KINDS[kind];
    super(detail === undefined || detail === '' ? says : `${says}: ${detail}`);
    this.kind = kind;
    this.whose = whose;
    this.retryable = retryable;
    this.detail = detail;
  }
}

/** Never throws; a failure passes through unchanged. `secrets` are values that must not appear in the message. */
export function classify(error: unknown, secrets: readonly string[] = []): ContainerFailure {
  if (error instanceof ContainerFailure) return error;
  const { statusCode, text, code } = readEngineError(error);
  if (code !== undefined) return new ContainerFailure('engine_unavailable', code);
  const rule = FAILURE_RULES.find((candidate) => matches(candidate, text, statusCode));
  const kind = rule?.kind ?? (statusCode === 400 ? 'bad_request' : 'engine_error');
  return new ContainerFailure(kind, tidy(rule?.subject?.exec(text)?.[1] ?? text, secrets));
}

/** Runs one step against the engine; whatever it throws comes out as a ContainerFailure. */
export async function asFailure<T>(step: () => Promise<T>, secrets: readonly string[] = []): Promise<T> {
  try {
    return await step();
  } catch (error) {
    throw classify(error, secrets);
  }
}

function matches(rule: FailureRule, text: string, statusCode: number | undefined): boolean {
  return rule.pattern.test(text) && (rule.statusCode === undefined || rule.statusCode === statusCode);
}

const DETAIL_LENGTH_MAX = 200;
/** Shorter values ("1", "yes") tell nothing, and cutting them out would leave no word whole. */
const SECRET_LENGTH_MIN = 4;

/** One line, no credentials of a URL, no secret, and no variable at all where the engine quotes one. */
function tidy(text: string, secrets: readonly string[]): string {
  if (/environment variable/i.test(text)) return 'an environment variable is not valid';
  let line = text.replace(/\s+/g, ' ').replace(/\/\/[^/\s@]+@/g, '//');
  for (const secret of secrets) if (secret.length >= SECRET_LENGTH_MIN) line = line.replaceAll(secret, '…');
  return line.trim().slice(0, DETAIL_LENGTH_MAX);
}
