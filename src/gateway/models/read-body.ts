import type { IncomingMessage } from 'node:http';

export interface BodyLimits {
  readonly bodyMaxBytes: number;
  /** For all of it. */
  readonly bodyMs: number;
}

/** Calls `done` once; never where the client leaves before. */
export function readBody(
  request: IncomingMessage,
  { bodyMaxBytes, bodyMs }: BodyLimits,
  done: (body: Buffer | 'too-large' | 'late') => void,
): void {
  if (Number(request.headers['content-length'] ?? 0) > bodyMaxBytes) return done('too-large');
  const parts: Buffer[] = [];
  let bytes = 0;
  let isDone = false;
  const finish = (outcome: Buffer | 'too-large' | 'late'): void => {
    if (isDone) return;
    isDone = true;
    clearTimeout(timer);
    done(outcome);
  };
  const timer = setTimeout(finish, bodyMs, 'late');
  request.on('data', (part: Buffer) => {
    if (isDone) return;
    bytes += part.length;
    if (bytes > bodyMaxBytes) finish('too-large');
    else parts.push(part);
  });
  request.on('end', () => finish(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts)));
  request.on('close', () => clearTimeout(timer));
}
