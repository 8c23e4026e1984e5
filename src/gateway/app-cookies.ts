import type { IncomingHttpHeaders } from 'node:http';
import type { JSONWebKeySet } from 'jose';
import { type AppCookie, appCookieSchema } from '../contract/index.js';
import { createTokenVerifier, KEY_PREFIX, TokenRefused, type TokenSigner } from '../platform/tokens.js';

const AUDIENCE = 'app-cookie';
const SECONDS_MAX = 12 * 3600;
const KNOWN_MAX = 10_000;
const OUR_BEARER = new RegExp(`^Bearer +${KEY_PREFIX}`, 'i');

/** The cookie of an app on its own origin: HttpOnly, SameSite=Lax, host-only, and Secure with the prefix where there is TLS. */
export interface AppCookies {
  readonly name: string;
  /** The value of a Set-Cookie header. */
  issue(claims: Omit<AppCookie, 'exp'>, secondsMax?: number): Promise<string>;
  /** Null when there is none, or none that is valid. */
  read(header: string | undefined): Promise<AppCookie | null>;
  /** Takes what is Berth's out of what the app will see. */
  strip(headers: IncomingHttpHeaders): void;
}

interface Keys {
  readonly signer: TokenSigner;
  readonly verifyKeys: JSONWebKeySet;
  readonly isSecure: boolean;
}

export function createAppCookies({ signer, verifyKeys, isSecure }: Keys): AppCookies {
  const verifier = createTokenVerifier(verifyKeys, AUDIENCE);
  const name = isSecure ? '__Host-berth-app' : 'berth-app';
  const known = new Map<string, AppCookie>(); // checking a signature costs more than the rest of a request

  const verify = async (token: string): Promise<AppCookie | null> => {
    const before = known.get(token);
    if (before !== undefined) return before.exp * 1000 > Date.now() ? before : null;
    try {
      const claims = appCookieSchema.safeParse(await verifier.verify(token));
      if (!claims.success) return null;
      if (known.size >= KNOWN_MAX) for (const [oldest] of known) if (known.delete(oldest)) break;
      known.set(token, claims.data);
      return claims.data;
    } catch (error) {
      if (error instanceof TokenRefused) return null;
      throw error;
    }
  };

  return {
    name,
    async issue(claims, secondsMax = SECONDS_MAX) {
      const seconds = Math.max(1, Math.min(SECONDS_MAX, Math.floor(secondsMax)));
      const token = await signer.sign({ audience: AUDIENCE, seconds, claims: { ...claims } });
      const secure = isSecure ? '; Secure' : ''; // plain HTTP is for this machine's own localhost names
      return `${name}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`;
    },
    async read(header) {
      const token = header === undefined ? undefined : valueOf(header, name);
      return token === undefined ? null : verify(token);
    },
    strip(headers) {
      if (headers.cookie !== undefined) {
        const rest = partsOf(headers.cookie).filter((part) => nameOf(part) !== name);
        if (rest.length === 0) delete headers.cookie;
        else headers.cookie = rest.join('; ');
      }
      if (OUR_BEARER.test(headers.authorization ?? '')) delete headers.authorization;
      for (const header of Object.keys(headers)) if (header.startsWith('berth-')) delete headers[header];
    },
  };
}

const partsOf = (header: string): string[] =>
  header
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');
const nameOf = (part: string): string => part.split('=', 1)[0] ?? '';

function valueOf(header: string, name: string): string | undefined {
  if (!header.includes(name)) return undefined;
  return partsOf(header)
    .find((part) => nameOf(part) === name)
    ?.slice(name.length + 1);
}
