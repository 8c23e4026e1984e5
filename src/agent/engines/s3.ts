import { createHash, createHmac } from 'node:crypto';
import { ArtifactFailure } from './artifact-failure.js';
import { httpText } from './artifact-http.js';

export interface S3Settings {
  /** Buckets are paths below it. */
  readonly endpoint: string;
  readonly region: string;
  /** Undefined: requests are not signed, as for public buckets. */
  readonly keys?: { readonly id: string; readonly secret: string; readonly token?: string | undefined } | undefined;
}

export interface S3Object {
  readonly key: string;
  readonly bytes: number;
}

/** RFC 3986, as the signature wants it; `/` stays. */
const escaped = (text: string): string =>
  encodeURIComponent(text)
    .replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll('%2F', '/');

export const objectUrl = ({ endpoint }: S3Settings, bucket: string, key: string): string =>
  `${endpoint.replace(/\/$/, '')}/${escaped(bucket)}/${escaped(key)}`;

/** Everything whose key begins with the prefix, in pages. */
export async function listObjects(
  { bucket, prefix }: { readonly bucket: string; readonly prefix: string },
  s3: S3Settings,
  signal: AbortSignal,
): Promise<readonly S3Object[]> {
  if (bucket === '') throw new ArtifactFailure('s3://bucket/key', 'claim');
  const objects: S3Object[] = [];
  let next: string | undefined;
  do {
    const token = next === undefined ? '' : `continuation-token=${escapedValue(next)}&`;
    const url = `${s3.endpoint.replace(/\/$/, '')}/${escaped(bucket)}?${token}list-type=2&prefix=${escapedValue(prefix)}`;
    const xml = await httpText(url, s3Headers(url, s3), signal);
    for (const [, entry = ''] of xml.matchAll(/<Contents>([\s\S]*?)<\/Contents>/g)) {
      objects.push({ key: unescaped(field(entry, 'Key') ?? ''), bytes: Number(field(entry, 'Size') ?? 0) });
    }
    next = field(xml, 'IsTruncated') === 'true' ? unescaped(field(xml, 'NextContinuationToken') ?? '') : undefined;
  } while (next !== undefined && next !== '');
  return objects;
}

const escapedValue = (text: string): string => escaped(text).replaceAll('/', '%2F');
const field = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(xml)?.[1];
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const unescaped = (text: string): string =>
  text.replaceAll(/&(amp|lt|gt|quot|apos);/g, (_, name: string) => ENTITIES[name] ?? '');

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
const NO_BODY = sha256('');

/** Signature version 4 of a GET, with the keys of the settings; nothing without keys. */
export function s3Headers(
  url: string,
  { keys, region }: S3Settings,
  now = new Date(),
): Readonly<Record<string, string>> {
  if (keys === undefined) return {};
  const at = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, '');
  const day = at.slice(0, 8);
  const { host, pathname, search } = new URL(url);
  const signed: Readonly<Record<string, string>> = {
    host,
    'x-amz-content-sha256': NO_BODY,
    'x-amz-date': at,
    ...(keys.token !== undefined && { 'x-amz-security-token': keys.token }),
  };
  const names = Object.keys(signed).sort();
  const query = search
    .slice(1)
    .split('&')
    .filter((part) => part !== '')
    .sort()
    .join('&');
  const lines = names.map((name) => `${name}:${signed[name] ?? ''}\n`).join('');
  const canonical = ['GET', pathname, query, lines, names.join(';'), NO_BODY].join('\n');
  const scope = `${day}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', at, scope, sha256(canonical)].join('\n');
  const key = ['s3', 'aws4_request'].reduce(hmac, hmac(hmac(`AWS4${keys.secret}`, day), region));
  const signature = hmac(key, text).toString('hex');
  const { host: _host, ...headers } = signed;
  const authorization = `AWS4-HMAC-SHA256 Credential=${keys.id}/${scope},SignedHeaders=${names.join(';')},Signature=${signature}`;
  return { ...headers, authorization };
}
