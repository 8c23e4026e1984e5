import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** Of one hop; and what is Berth's own, or of other deployments: all of them share this origin, and so its cookies. */
const NOT_SENT: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer'],
  ...[
    'transfer-encoding',
    'upgrade',
    'expect',
    'host',
    'http2-settings',
    'authorization',
    'cookie',
    'forwarded',
    'x-request-id',
  ],
]);
const NOT_ANSWERED: ReadonlySet<string> = new Set([
  ...[
    'connection',
    'keep-alive',
    'proxy-authenticate',
    'proxy-connection',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
  ],
  ...['set-cookie', 'x-request-id'],
]);

export interface SentTo {
  readonly authorization: string | null;
  readonly requestId: string;
  readonly name: string;
  /** As clients see it, `https` or `http`. */
  readonly scheme: string;
}

/** What a replica is sent, flat: the client's own, the replica's key, and whence it came. */
export function headersToReplica(
  { headers, rawHeaders, socket }: Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'socket'>,
  { authorization, requestId, name, scheme }: SentTo,
): string[] {
  const listed = listedIn(headers.connection);
  const sent: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const header = (rawHeaders[at] ?? '').toLowerCase();
    if (NOT_SENT.has(header) || listed.has(header)) continue;
    if (header.startsWith('x-forwarded-') || header.startsWith('berth-')) continue;
    sent.push(header, rawHeaders[at + 1] ?? '');
  }
  sent.push('x-request-id', requestId, 'x-forwarded-for', socket.remoteAddress ?? '', 'x-forwarded-proto', scheme);
  sent.push('x-forwarded-host', headers.host ?? '', 'x-forwarded-prefix', `/deployments/${name}`);
  if (authorization !== null) sent.push('authorization', authorization);
  return sent;
}

/** What goes back, flat; `raw` is flat as well. */
export function headersToClient(raw: readonly (Buffer | string)[], requestId: string): string[] {
  const listed = new Set<string>();
  const passed: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const header = String(raw[at]).toLowerCase();
    const value = raw[at + 1] ?? '';
    const text = typeof value === 'string' ? value : value.toString('latin1');
    if (header === 'connection') for (const one of listedIn(text)) listed.add(one);
    if (!NOT_ANSWERED.has(header)) passed.push(header, text);
  }
  const kept = listed.size === 0 ? passed : passed.filter((_, at) => !listed.has(passed[at - (at % 2)] ?? ''));
  kept.push('x-request-id', requestId);
  return kept;
}

const NONE: ReadonlySet<string> = new Set();
/** Headers that a sender names as its hop's own. */
function listedIn(connection: IncomingHttpHeaders['connection']): ReadonlySet<string> {
  if (connection === undefined || connection === 'keep-alive' || connection === 'close') return NONE;
  return new Set(connection.split(',').map((one) => one.trim().toLowerCase()));
}
