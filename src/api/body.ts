import { createHash } from 'node:crypto';
import type { FastifyInstance } from 'fastify';
import { toPointer } from './pointer.js';
import { invalid } from './problem.js';
import { unstorableText } from './unstorable-text.js';

const DECODER = new TextDecoder('utf-8', { fatal: true });

declare module 'fastify' {
  interface FastifyRequest {
    /** SHA-256 of the body as it came. */
    bodyHash: Buffer | null;
  }
}

function decode(bytes: Buffer): string {
  try {
    return DECODER.decode(bytes);
  } catch {
    throw invalid('', 'the body is not UTF-8');
  }
}

/** Takes JSON only: valid UTF-8, without `__proto__` and without what no column of text holds. No body at all is undefined. */
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
        const found = unstorableText(parsed);
        return found === null ? done(null, parsed) : done(invalid(toPointer(found.path), found.message));
      });
    } catch (refused) {
      done(refused as Error);
    }
  });
}
