import { createHash, createHmac, generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePrivateFile, type StateDir } from '../../platform/state-dir.js';
import { NODE_TOKEN_PREFIX, newApiKey, newNodeToken } from '../../platform/tokens.js';

/** Where each secret lies; nothing but the two values is ever read into the supervisor. */
export interface Secrets {
  readonly sealingKeyFile: string;
  readonly signingKeyFile: string;
  readonly verifyKeyFile: string;
  readonly bootstrapKeyFile: string;
  readonly nodeToken: string;
  readonly postgresPassword: string;
}

/** Of a further node on this machine: derived from the first one's, so that no second file is kept in step. */
export const furtherNodeToken = ({ nodeToken }: Secrets, name: string): string =>
  `${NODE_TOKEN_PREFIX}${createHmac('sha256', nodeToken).update(name).digest('base64url')}`;

/** RFC 7638: a key id that anyone derives again from the key. */
function thumbprint({ crv, kty, x, y }: JsonWebKey): string {
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
}

type JsonWebKey = Readonly<Record<string, unknown>>;

function newSigningKey(): string {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const key = privateKey.export({ format: 'jwk' }) as JsonWebKey;
  return `${JSON.stringify({ ...key, alg: 'ES256', use: 'sig', kid: thumbprint(key) })}\n`;
}

function publicKeys(signingKeyFile: string): string {
  const { d: _private, ...key } = JSON.parse(readFileSync(signingKeyFile, 'utf8')) as JsonWebKey;
  return `${JSON.stringify({ keys: [key] })}\n`;
}

/** Makes what is missing, each file 0600; what is there is never made anew, for data is sealed with it. */
export function ensureSecrets(state: StateDir): Secrets {
  const file = (name: string) => join(state.secretsDir, name);
  const ensured = (name: string, make: () => string) => ensurePrivateFile(file(name), make).trim();
  ensured('sealing-key', () => `${randomBytes(32).toString('base64')}\n`);
  ensured('signing-key.json', newSigningKey);
  ensured('verify-keys.json', () => publicKeys(file('signing-key.json')));
  ensured('admin-api-key', () => `${newApiKey().secret}\n`);
  return {
    sealingKeyFile: file('sealing-key'),
    signingKeyFile: file('signing-key.json'),
    verifyKeyFile: file('verify-keys.json'),
    bootstrapKeyFile: file('admin-api-key'),
    nodeToken: ensured('node-token', () => `${newNodeToken().secret}\n`),
    postgresPassword: ensured('postgres-password', () => `${randomBytes(32).toString('base64url')}\n`),
  };
}
