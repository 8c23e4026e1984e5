import type { FailureKind } from './failures.js';

export interface FailureRule {
  readonly kind: FailureKind;
  readonly pattern: RegExp;
  /** Only for messages that mean something else under another status. */
  readonly statusCode?: number;
  /** Its first group is what the message is about: an image, a port, a program, a path. */
  readonly subject?: RegExp;
}

export const AMBIGUOUS_NETWORK = /network \S+ is ambiguous/i;

/** Messages of engine 20.10 and later and of registries, first match wins. */
export const FAILURE_RULES: readonly FailureRule[] = [
  {
    kind: 'port_taken',
    pattern: /port is already allocated|address already in use/i,
    subject: /(?:Bind for|listen tcp\d?) (\S+?):? (?:failed|bind)/,
  },
  {
    kind: 'device_unavailable',
    pattern: /could not select device driver|nvidia-container-cli|unknown or invalid runtime name/i,
  },
  {
    kind: 'device_unavailable',
    pattern: /unresolvable CDI devices|failed to inject CDI devices|CDI device injection failed/i,
  },
  {
    kind: 'out_of_memory',
    pattern: /minimum memory limit allowed|cannot allocate memory|container init was OOM-killed/i,
  },
  {
    kind: 'bad_mount',
    pattern: /invalid mount config|invalid mount path|invalid volume specification|duplicate mount point/i,
    subject: /: ([^:]+(?:: [^:]+)?)$/,
  },
  { kind: 'bad_mount', pattern: /error mounting|error while creating mount source path|failed to mount/i },
  {
    kind: 'bad_command',
    pattern:
      /executable file not found|no such file or directory: unknown|permission denied: unknown|exec format error/i,
    subject: /exec: "([^"]*)"/,
  },
  { kind: 'bad_command', pattern: /\[FATAL tini/, subject: /exec (.+ failed: .+)$/m },
  {
    kind: 'bad_command',
    pattern: /no command specified|is not an absolute path|cannot mkdir|unable to find (user|group)/i,
  },
  {
    kind: 'registry_auth',
    pattern: /unauthorized|authentication required|no basic auth credentials|incorrect username or password/i,
  },
  {
    kind: 'registry_auth',
    pattern: /pull access denied|requested access to the resource is denied|403 Forbidden/i,
    subject: /denied for (\S+?),/,
  },
  {
    kind: 'image_not_found',
    pattern: /no such image|manifest unknown|manifest for .* not found|repository .* not found|name unknown/i,
  },
  { kind: 'image_not_found', pattern: /invalid reference format|no matching manifest for|invalid repository name/i },
  {
    kind: 'pull_failed',
    pattern:
      /Get "?https?:|error pulling image|toomanyrequests|failed to register layer|no space left on device|filesystem layer verification failed|unexpected EOF|TLS handshake|http: server gave HTTP response/i,
  },
  { kind: 'engine_error', pattern: AMBIGUOUS_NETWORK },
  { kind: 'name_conflict', pattern: /the container name .* is already in use/i, statusCode: 409 },
  { kind: 'no_such_container', pattern: /no such container/i },
  {
    kind: 'engine_unavailable',
    pattern: /socket hang up|^aborted$|cannot connect to the docker daemon|premature close|shutting down/i,
  },
];
