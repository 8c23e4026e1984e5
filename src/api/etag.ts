import type { FastifyReply, FastifyRequest } from 'fastify';
import { problem } from './problem.js';

/** The version that the caller has read; null without `If-Match`, and for `*`. */
export function ifMatchOf(request: FastifyRequest): string | null {
  const header = request.headers['if-match'];
  if (header === undefined || header === '*') return null;
  return header
    .replace(/^W\//, '')
    .replace(/^"(.*)"$/, '$1')
    .slice(0, 200);
}

/** Puts the object's version into the ETag header, and answers the object. */
export function withEtag<T extends { readonly etag: string }>(reply: FastifyReply, object: T): T {
  void reply.header('etag', `"${object.etag}"`);
  return object;
}

export const stale = (what: string) => problem('stale', `${what} has changed since you read it; read it again`);
