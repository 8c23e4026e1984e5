// How every image of the project gets into the engine: from a cached root file system, or as files on top of another image.
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { aptInstall, cacheDir, isRoot, rootPrefix, run, SetupError, which, withLock } from './common.mjs';
import { engine, ensureDocker } from './docker.mjs';

export const PATH_CHANGE = 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** On every image: what it was made from, so that a changed recipe makes the image anew under the same name. */
const SOURCE_LABEL = 'berth.source';

/** Runs a step of a build, or says what it said last. `what` begins with the image's short name. */
export async function step(what, [program, ...args], mend) {
  const done = await run(program, args, { timeoutSeconds: 900 });
  if (done.code === 0) return done.stdout;
  const last = (done.stderr || done.stdout).trim().split('\n').slice(-3).join(' | ');
  throw new SetupError(`${what} ended with ${done.code}: ${last}`, mend);
}

export const noDiskSpace = 'free disk space and run again';

/** `work` in a folder that is gone afterwards. */
export async function inScratch(name, work) {
  const folder = mkdtempSync(join(tmpdir(), `berth-${name}-`));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export async function tarFolder(folder, tarball) {
  await step(
    'image: tar',
    ['tar', '--owner=0', '--group=0', '--numeric-owner', '-C', folder, '-cf', tarball, '.'],
    noDiskSpace,
  );
}

/** A file of the cache; it appears under its name only when it is whole, so a killed build leaves nothing half. */
export async function cachedTarball(name, make) {
  const file = join(cacheDir('images'), name);
  if (existsSync(file)) return file;
  const partial = `${file}.${process.pid}`;
  try {
    await make(partial);
    renameSync(partial, file);
  } finally {
    rmSync(partial, { force: true });
  }
  return file;
}

/** Debian bookworm's minbase with these packages, as a tarball. */
export async function debianRoot(tarball, packages) {
  if (which('mmdebstrap') === undefined) await aptInstall('mmdebstrap', 'image: mmdebstrap is not installed');
  const prefix = isRoot() ? [] : ((await rootPrefix()) ?? []); // without root, mmdebstrap tries user namespaces
  const args = ['--variant=minbase', `--include=${packages.join(',')}`, '--format=tar', 'bookworm', '-'];
  const command = [...prefix, 'mmdebstrap', ...args].map((part) => `'${part}'`).join(' ');
  const mend = 'make a Debian mirror reachable, or run as root';
  await step('image: mmdebstrap', ['sh', '-c', `${command} > '${tarball}'`], mend);
}

const tagged = (name) =>
  Object.fromEntries([
    ['repo', name.split(':')[0]],
    ['tag', name.split(':')[1]],
  ]);

async function send(path, file, what) {
  const options = { body: createReadStream(file), timeoutSeconds: 300, contentType: 'application/x-tar' };
  const { status, text } = await engine('POST', path, options);
  if (status === 200 && !text.includes('"error"')) return;
  throw new SetupError(`image: the engine refused ${what}: ${text.slice(-300)}`, `remove ${file} and run again`);
}

/** An image whose one layer is the tarball; `changes` as a Dockerfile writes them. */
export async function importImage({ name, source, file, changes }) {
  const query = new URLSearchParams({ fromSrc: '-', ...tagged(name) });
  for (const change of [...changes, `LABEL ${SOURCE_LABEL}=${source}`]) query.append('changes', change);
  await send(`/images/create?${query}`, file, name);
}

/** An image from a tarball with a Dockerfile, on top of an image that is there: nothing is pulled. */
export async function buildImage({ name, source, file }) {
  const query = new URLSearchParams({ t: name, forcerm: '1', labels: JSON.stringify({ [SOURCE_LABEL]: source }) });
  await send(`/build?${query}`, file, name);
}

async function found(name) {
  const { status, text } = await engine('GET', `/images/${name}/json`);
  return status === 200 ? JSON.parse(text) : undefined;
}

const isThere = async ({ name, source }) => (await found(name))?.Config?.Labels?.[SOURCE_LABEL] === source;

/**
 * The image as `source` names its recipe: one call when it is there, else `make` makes it, once however many ask. An older one
 * of that name is removed, or only loses its name while something runs from it. Returns whether it was made.
 */
export async function ensureImage({ name, source, make }) {
  await ensureDocker();
  if (await isThere({ name, source })) return false;
  return withLock(`image-${name.replace(/\W/g, '-')}`, async () => {
    if (await isThere({ name, source })) return false;
    const before = await found(name);
    await make({ name, source });
    if (before !== undefined) await engine('DELETE', `/images/${before.Id}`);
    return true;
  });
}

/** A short name of what these files say, in the order given. */
export function hashOf(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(file)).update('\0');
  return hash.digest('hex').slice(0, 16);
}
