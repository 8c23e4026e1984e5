import { ArtifactFailure } from './artifact-failure.js';
import { httpText } from './artifact-http.js';
import { listObjects, objectUrl, type S3Settings, s3Headers } from './s3.js';

/** One file of an artifact. */
export interface ArtifactFile {
  /** Where it lies in the artifact: never outside. */
  readonly path: string;
  readonly url: string;
  /** Made anew for each request: signatures are short-lived. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** null: told by the answer. */
  readonly bytes: number | null;
  readonly sha256: string | null;
}

export interface ArtifactSettings {
  readonly huggingFaceEndpoint: string;
  readonly huggingFaceToken?: string | undefined;
  readonly s3: S3Settings;
}

const nothing = (): Readonly<Record<string, string>> => ({});

/** What lies behind an artifact's URL. Throws `ArtifactFailure`. */
export async function artifactFiles(
  { url, sha256 }: { readonly url: string; readonly sha256: string | null },
  settings: ArtifactSettings,
  signal: AbortSignal,
): Promise<readonly ArtifactFile[]> {
  const [, scheme, rest = ''] = /^([a-z0-9]+):\/\/(.*)$/s.exec(url) ?? [];
  const files = await filesOf({ scheme, rest, url, sha256 }, settings, signal);
  if (files.length === 0) throw new ArtifactFailure(`nothing lies at ${shown(url)}`, 'claim');
  for (const { path } of files) refuseOutside(path);
  return files;
}

interface Place {
  readonly scheme: string | undefined;
  readonly rest: string;
  readonly url: string;
  readonly sha256: string | null;
}

async function filesOf(
  place: Place,
  settings: ArtifactSettings,
  signal: AbortSignal,
): Promise<readonly ArtifactFile[]> {
  if (place.scheme === 'https' || place.scheme === 'http') {
    return [{ path: nameOf(place.url), url: place.url, headers: nothing, bytes: null, sha256: place.sha256 }];
  }
  if (place.scheme === 's3') return s3Files(place, settings.s3, signal);
  if (place.scheme === 'huggingface') return huggingFaceFiles(place.rest, settings, signal);
  throw new ArtifactFailure(`no artifact is fetched from ${String(place.scheme)}://`, 'claim');
}

/** Credentials and a query may be secrets. */
export const shown = (url: string): string => url.replace(/\/\/[^/@]*@/, '//').replace(/\?.*$/s, '');

function nameOf(url: string): string {
  const last = new URL(url).pathname.split('/').findLast((part) => part !== '');
  return (
    decodeURIComponent(last ?? 'artifact')
      .replaceAll(/[^A-Za-z0-9._-]/g, '_')
      .replace(/^\.+/, '') || 'artifact'
  );
}

/** The object itself, or everything below a prefix. */
async function s3Files({ rest }: Place, s3: S3Settings, signal: AbortSignal): Promise<readonly ArtifactFile[]> {
  const [bucket = '', ...parts] = rest.split('/');
  const key = parts.join('/').replace(/\/$/, '');
  const objects = await listObjects({ bucket, prefix: key }, s3, signal);
  const file = (name: string, path: string, bytes: number): ArtifactFile => {
    const url = objectUrl(s3, bucket, name);
    return { path, url, headers: () => s3Headers(url, s3), bytes, sha256: null };
  };
  const itself = objects.find((object) => object.key === key);
  if (itself !== undefined) return [file(key, key.split('/').at(-1) ?? key, itself.bytes)];
  const folder = key === '' ? '' : `${key}/`;
  return objects
    .filter((object) => object.key.startsWith(folder) && !object.key.endsWith('/'))
    .map((object) => file(object.key, object.key.slice(folder.length), object.bytes));
}

interface Repository {
  readonly sha?: string;
  readonly siblings?: readonly {
    readonly rfilename: string;
    readonly size?: number;
    readonly lfs?: { readonly sha256?: string; readonly size?: number };
  }[];
}

/** The same weights in another framework's form. */
const DOUBLES = /\.(bin|pt|pth|h5|msgpack|ot|onnx|tflite|gguf)$|^original\/|^onnx\//;

/** A commit is taken and its files are asked for by it, so that a push in between mixes nothing. */
async function huggingFaceFiles(
  rest: string,
  { huggingFaceEndpoint: endpoint, huggingFaceToken: token }: ArtifactSettings,
  signal: AbortSignal,
): Promise<readonly ArtifactFile[]> {
  const [, repository, revision = 'main'] = /^([\w.-]+\/[\w.-]+)(?:@([\w./-]+))?\/?$/.exec(rest) ?? [];
  if (repository === undefined) throw new ArtifactFailure('huggingface://organisation/name[@revision]', 'claim');
  const headers = () => (token === undefined ? nothing() : { authorization: `Bearer ${token}` });
  const url = `${endpoint}/api/models/${repository}/revision/${encodeURIComponent(revision)}?blobs=true`;
  const { sha = revision, siblings = [] } = JSON.parse(await httpText(url, headers(), signal)) as Repository;
  const hasSafetensors = siblings.some(({ rfilename }) => /^[^/]*\.safetensors$/.test(rfilename));
  return siblings
    .filter(({ rfilename }) => rfilename !== '.gitattributes' && !(hasSafetensors && DOUBLES.test(rfilename)))
    .map(({ rfilename, size, lfs }) => ({
      path: rfilename,
      url: `${endpoint}/${repository}/resolve/${sha}/${rfilename.split('/').map(encodeURIComponent).join('/')}`,
      headers,
      bytes: lfs?.size ?? size ?? null,
      sha256: lfs?.sha256 ?? null,
    }));
}

/** A list from outside must not write elsewhere. */
function refuseOutside(path: string): void {
  const parts = path.split('/');
  if (
    path !== '' &&
    !path.includes('\\') &&
    !path.includes('\0') &&
    parts.every((part) => part !== '' && part !== '.' && part !== '..')
  )
    return;
  throw new ArtifactFailure('a file of the artifact would lie outside of it', 'claim');
}
