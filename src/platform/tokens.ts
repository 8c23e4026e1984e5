import { createHash, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import {
  createLocalJWKSet,
  importJWK,
  type JSONWebKeySet,
  type JWK,
  type JWTPayload,
  errors as joseErrors,
  jwtVerify,
  SignJWT,
} from 'jose';

const ALGORITHM = 'ES256';
const ISSUER = 'berth';

export const KEY_PREFIX = 'berth_';
export const NODE_TOKEN_PREFIX = 'berthnode_';
/** Opens one deployment's endpoint. */
export const DEPLOYMENT_TOKEN_PREFIX = 'bdt_';
const ENGINE_KEY_PREFIX = 'berthengine_';
/** As many characters of a key are kept readable, to recognise it by. */
const SHOWN_CHARACTERS = 12;

export interface Secret {
  readonly secret: string;
  readonly hash: Buffer;
  readonly shown: string;
}

/** What the database keeps of a key: 256 random bits need no slow hash, and a lookup by hash leaks no timing of the key. */
export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest();
export const shownPrefix = (secret: string): string => secret.slice(0, SHOWN_CHARACTERS);

const newSecret = (prefix: string): Secret => {
  const secret = `${prefix}${randomBytes(32).toString('base64url')}`;
  return { secret, hash: hashSecret(secret), shown: shownPrefix(secret) };
};
export const newApiKey = (): Secret => newSecret(KEY_PREFIX);
export const newNodeToken = (): Secret => newSecret(NODE_TOKEN_PREFIX);
export const newDeploymentToken = (): Secret => newSecret(DEPLOYMENT_TOKEN_PREFIX);
/** What one engine asks for on /v1: the gateway alone sends it. */
export const newEngineKey = (): string => newSecret(ENGINE_KEY_PREFIX).secret;

export interface TokenSigner {
  /** An ES256 token of `seconds` for one audience: `storage`, or `node/<name>`. A `jti` is added when the claims have none. */
  sign(token: {
    readonly audience: string;
    readonly seconds: number;
    readonly claims: Readonly<Record<string, unknown>>;
  }): Promise<string>;
}

export class TokenRefused extends Error {
  override readonly name = 'TokenRefused';
}

export interface TokenVerifier {
  /** The claims, with `exp` in seconds. Throws `TokenRefused` for a token that is expired, forged or for another audience. */
  verify(token: string): Promise<JWTPayload>;
}

/** A private EC key (P-256) as a JWK; its `kid` goes into each token, so that keys can be changed. */
export async function createTokenSigner(privateKey: JWK): Promise<TokenSigner> {
  const key = await importJWK(privateKey, ALGORITHM);
  const header = { alg: ALGORITHM, ...(privateKey.kid === undefined ? {} : { kid: privateKey.kid }) };
  return {
    sign: ({ audience, seconds, claims }) =>
      new SignJWT({ jti: randomBytes(16).toString('base64url'), ...claims })
        .setProtectedHeader(header)
        .setIssuer(ISSUER)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime(`${seconds}s`)
        .sign(key),
  };
}

export function createTokenVerifier(keys: JSONWebKeySet, audience: string): TokenVerifier {
  const keySet = createLocalJWKSet(keys);
  return {
    async verify(token) {
      try {
        const options = { audience, issuer: ISSUER, algorithms: [ALGORITHM], requiredClaims: ['exp', 'jti'] };
        return (await jwtVerify(token, keySet, options)).payload;
      } catch (error) {
        if (error instanceof joseErrors.JOSEError) throw new TokenRefused(error.message, { cause: error });
        throw error;
      }
    },
  };
}

export async function readTokenSigner(file: string): Promise<TokenSigner> {
  return createTokenSigner(JSON.parse(await readFile(file, 'utf8')) as JWK);
}

/** A file with a JWKS, or with one public JWK. */
export async function readVerifyKeys(file: string): Promise<JSONWebKeySet> {
  const parsed = JSON.parse(await readFile(file, 'utf8')) as JSONWebKeySet | JWK;
  return 'keys' in parsed ? parsed : { keys: [parsed] };
}
