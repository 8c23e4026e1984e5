import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { escapePointer } from './pointer.js';
import { invalid } from './problem.js';

const DEPTH_MAX = 64;
const NAUGHTY = /\0|\p{Cs}/u;
const DECODER = new TextDecoder('utf-8', { fatal: true });

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body as it came. */
    bodyHash: Buffer | null;
  }
}

/**
 * Refuses what no column of text holds: NUL and half surrogate pairs, in keys and in values; and nesting that no
 * schema of ours has. Iterative, since the depth is the caller's choice.
 */
export function checkText(value: unknown, root: string): void {
  const open: { readonly at: string; readonly value: unknown; readonly depth: number }[] = [
    { at: root, value, depth: 0 },
  ];
  for (let item = open.pop(); item !== undefined; item = open.pop()) {
    const { at, depth } = item;
    if (depth > DEPTH_MAX) throw invalid('', `nested deeper than ${DEPTH_MAX}`);
    if (typeof item.value === 'string' && NAUGHTY.test(item.value)) {
      throw invalid(at, 'no NUL and no half of a surrogate pair');
    }
    if (typeof item.value !== 'object' || item.value === null) continue;
    for (const [key, child] of Object.entries(item.value)) {
      if (NAUGHTY.test(key)) throw invalid(at, 'a key with NUL or half of a surrogate pair');
      open.push({ at: `${at}/${escapePointer(key)}`, value: child, depth: depth + 1 });
    }
  }
}

function decode(bytes: Buffer): string {
  try {
    return DECODER.decode(bytes);
  } catch {
    throw invalid('', 'the body is not UTF-8');
  }
}

/** Takes JSON only: valid UTF-8, without `__proto__` and without what `checkText` refuses. No body at all is undefined. */
export function takeJsonBodies(app: FastifyInstance): void {
  const parseJson = app.getDefaultJsonParser('error', 'error');
  app.decorateRequest('bodyHash', null);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const bytes = body as Buffer;
    request.bodyHash = createHash('sha256').update(bytes).digest();
    if (bytes.length === 0) {
      done(null, undefined);
      return;
    }
    try {
      void parseJson(request, decode(bytes), (error, parsed: unknown) => {
        if (error !== null) return done(invalid('', 'the body is not valid JSON'));
        try {
          checkText(parsed, '');
          return done(null, parsed);
        } catch (refused) {
          return done(refused as Error);
        }
      });
    } catch (refused) {
      done(refused as Error);
    }
  });
}
