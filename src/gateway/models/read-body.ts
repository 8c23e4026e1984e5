import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  readonly bodyMaxBytes: number;
  /** For all of it, and half as much again: who is late is looked for, since a timer for each request would cost too much. */
  readonly bodyMs: number;
}

/** Calls `done` once; never where the client leaves before. */
export function readBody(
  request: IncomingMessage,
  bodyMaxBytes: number,
  done: (body: Buffer | 'too-large') => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > bodyMaxBytes) return done('too-large');
  let first: Buffer | null = null;
  let more: Buffer[] | null = null;
  let bytes = 0;
  request.on('data', (part: Buffer) => {
    if (bytes > bodyMaxBytes) return;
    bytes += part.length;
    if (bytes > bodyMaxBytes) {
      first = null;
      more = null;
      done('too-large');
    } else if (first === null) first = part;
    else if (more === null) more = [first, part];
    else more.push(part);
  });
  request.on('end', () => {
    if (bytes <= bodyMaxBytes) done(more === null ? (first ?? NOTHING) : Buffer.concat(more));
  });
}

const NOTHING = Buffer.alloc(0);
