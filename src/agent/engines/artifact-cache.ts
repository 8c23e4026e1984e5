import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, realpath, rename, rm, stat, statfs, writeFile } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { createSharedWork } from '../../docker/shared-work.js';
import type { Logger } from '../../platform/log.js';
import type { Volumes } from '../mounts.js';
import { downloadFile } from './artifact-download.js';
import { ArtifactFailure } from './artifact-failure.js';
import { type ArtifactFile, type ArtifactSettings, artifactFiles, shown } from './artifact-files.js';

/** An artifact on this machine, as an engine's container sees it. */
export interface Artifact {
  /** In the cache; empty for a folder, which lies where it always lies. */
  readonly key: string;
  /** A directory of the host, mounted read-only at `target`. */
  readonly source: string;
  readonly target: string;
  /** In the container: the directory, or the one file. */
  readonly path: string;
}

/**
 * Artifacts of this node: fetched once however many ask, on from where an earlier try ended, checked, and kept within a
 * bound, least recently used first to go. What a living engine (or a start) uses never goes.
 */
export interface ArtifactCache {
  /** Throws `ArtifactFailure`. */
  readonly ensure: (url: string, sha256: string | null, signal: AbortSignal) => Promise<Artifact>;
  /** URLs that are here whole. */
  readonly list: () => Promise<readonly string[]>;
}

export interface ArtifactCacheDeps {
  readonly dir: string;
  readonly bytesMax: number;
  readonly settings: ArtifactSettings;
  readonly volumes: Volumes;
  /** Keys that containers use. */
  readonly inUse: () => Promise<ReadonlySet<string>>;
  readonly log: Logger;
}

interface Entry {
  readonly url: string;
  readonly bytes: number;
  readonly usedAtMs: number;
  /** The one file's name; null: a directory of several. */
  readonly file: string | null;
}

const keyOf = (url: string, sha256: string | null): string =>
  createHash('sha256')
    .update(`${url}\n${sha256 ?? ''}`)
    .digest('hex')
    .slice(0, 32);

export function createArtifactCache(deps: ArtifactCacheDeps): ArtifactCache {
  const shared = createSharedWork<Artifact, never>();
  /** Keys that are being fetched, or were just handed out: no container names them yet. */
  const leases = new Map<string, number>();
  return {
    list: async () => [...(await entries(deps.dir))].map(([, { url }]) => url),
    ensure: async (url, sha256, signal) => {
      if (url.startsWith('folder://')) return folder(deps.volumes, url.slice('folder://'.length));
      const key = keyOf(url, sha256);
      leases.set(key, Date.now() + LEASE_MS);
      const start = (_: unknown, until: AbortSignal) => fetchOnce(deps, { key, url, sha256, leases }, until);
      return shared(key, { start, onProgress: undefined, signal });
    },
  };
}

/** From the fetch's end to the container that uses it. */
const LEASE_MS = 600_000;

interface Fetch {
  readonly key: string;
  readonly url: string;
  readonly sha256: string | null;
  readonly leases: Map<string, number>;
}

async function fetchOnce(deps: ArtifactCacheDeps, fetch: Fetch, signal: AbortSignal): Promise<Artifact> {
  const { dir, log } = deps;
  const { key, url, sha256, leases } = fetch;
  await mkdir(dir, { recursive: true });
  const known = await readEntry(dir, key);
  if (known !== undefined) {
    await writeEntry(dir, key, { ...known, usedAtMs: Date.now() });
    return artifact(dir, key, known);
  }
  const files = await artifactFiles({ url, sha256 }, deps.settings, signal);
  const part = join(dir, `${key}.part`);
  const told = files.reduce((total, { bytes }) => total + (bytes ?? 0), 0);
  await makeRoom(deps, leases, { bytes: told, isHere: false });
  log.info({ artifact: shown(url), files: files.length }, 'an artifact is fetched');
  for (const file of files) await downloadFile(file, join(part, file.path), signal);
  const bytes = await sum(part, files);
  // a size may have been told by the answer alone
  await makeRoom(deps, leases, { bytes, isHere: true }).catch(async (error: unknown) => {
    await rm(part, { recursive: true, force: true });
    throw error;
  });
  await rm(join(dir, key), { recursive: true, force: true });
  await rename(part, join(dir, key));
  const isOne = files.length === 1 && !url.startsWith('huggingface://');
  const entry: Entry = { url, bytes, usedAtMs: Date.now(), file: isOne ? (files[0]?.path ?? null) : null };
  await writeEntry(dir, key, entry);
  leases.set(key, Date.now() + LEASE_MS);
  log.info({ artifact: shown(url), bytes }, 'an artifact is here');
  return artifact(dir, key, entry);
}

function artifact(dir: string, key: string, { file }: Entry): Artifact {
  const target = `/models/${key}`;
  return { key, source: join(dir, key), target, path: file === null ? target : `${target}/${file}` };
}

const sum = async (dir: string, files: readonly ArtifactFile[]): Promise<number> =>
  (await Promise.all(files.map(async ({ path }) => (await stat(join(dir, path))).size))).reduce((a, b) => a + b, 0);

/** An entry is there once its note is: the directory is renamed to its place before. */
async function readEntry(dir: string, key: string): Promise<Entry | undefined> {
  try {
    const entry = JSON.parse(await readFile(join(dir, `${key}.json`), 'utf8')) as Entry;
    return (await stat(join(dir, key))).isDirectory() ? entry : undefined;
  } catch {
    return undefined;
  }
}

async function writeEntry(dir: string, key: string, entry: Entry): Promise<void> {
  const file = join(dir, `${key}.json`);
  await writeFile(`${file}.new`, JSON.stringify(entry));
  await rename(`${file}.new`, file);
}

async function entries(dir: string): Promise<ReadonlyMap<string, Entry>> {
  const names = await readdir(dir).catch(() => []);
  const found = new Map<string, Entry>();
  for (const name of names.filter((file) => file.endsWith('.json'))) {
    const key = name.slice(0, -'.json'.length);
    const entry = await readEntry(dir, key);
    if (entry !== undefined) found.set(key, entry);
  }
  return found;
}

interface Need {
  readonly bytes: number;
  /** On the disk already, and not yet in the cache. */
  readonly isHere: boolean;
}

async function makeRoom(deps: ArtifactCacheDeps, leases: Map<string, number>, { bytes, isHere }: Need): Promise<void> {
  const { dir, bytesMax, log } = deps;
  const { bavail, bsize } = await statfs(dir);
  const found = await entries(dir);
  const used = await deps.inUse();
  const held = [...found.values()].reduce((total, entry) => total + entry.bytes, 0);
  const overBytes = isHere ? 0 : bytes - bavail * bsize;
  let excess = Math.max(held + bytes - bytesMax, overBytes);
  const idle = [...found].filter(([key]) => !used.has(key) && (leases.get(key) ?? 0) < Date.now());
  for (const [key, entry] of idle.sort(([, a], [, b]) => a.usedAtMs - b.usedAtMs)) {
    if (excess <= 0) break;
    await rm(join(dir, `${key}.json`), { force: true }); // first: what is half gone must not pass for whole
    await rm(join(dir, key), { recursive: true, force: true });
    excess -= entry.bytes;
    log.info({ artifact: shown(entry.url), bytes: entry.bytes }, 'an artifact made room');
  }
  if (excess > 0) throw new ArtifactFailure(`the cache of artifacts lacks ${excess} bytes`, 'node');
}

const FOLDER_NAME = /^[A-Za-z0-9_-]{1,128}$/;

/** In whichever of the node's volumes it lies; a link leads nowhere else. */
async function folder(volumes: Volumes, id: string): Promise<Artifact> {
  if (!FOLDER_NAME.test(id)) throw new ArtifactFailure('folder://<folder id>', 'claim');
  for (const root of Object.values(volumes)) {
    const path = await realpath(join(root, id)).catch(() => undefined);
    if (path?.startsWith((await realpath(root)) + sep)) {
      return { key: '', source: path, target: `/models/${id}`, path: `/models/${id}` };
    }
  }
  throw new ArtifactFailure(`folder ${id} is not on this node`, 'node');
}
