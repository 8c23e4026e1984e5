import type { IncomingHttpHeaders } from 'node:http';
import { invalid } from '../api/problem.js';

const HEX = /^[0-9a-f]{64}$/i;
const CONTENT_DIGEST = /(?:^|,)\s*sha-256=:([A-Za-z0-9+/]{43}=):/;

/** The announced SHA-256 in hexadecimal: `x-berth-sha256`, or RFC 9530's `content-digest: sha-256=:<base64>:`. */
export function announcedSha256(headers: IncomingHttpHeaders): string | null {
  const hex = headers['x-berth-sha256'];
  if (typeof hex === 'string') {
    if (!HEX.test(hex)) throw invalid('', 'x-berth-sha256 is 64 hexadecimal digits');
    return hex.toLowerCase();
  }
  const digest = headers['content-digest'];
  if (typeof digest !== 'string') return null;
  const base64 = CONTENT_DIGEST.exec(digest)?.[1];
  if (base64 === undefined) throw invalid('', 'content-digest looks like sha-256=:<base64>:');
  return Buffer.from(base64, 'base64').toString('hex');
}
