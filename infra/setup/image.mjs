// The images of the tests and the quick start, made from root file systems: no registry is needed.
import {
  copyFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  aptInstall,
  cacheDir,
  isMain,
  isRoot,
  main,
  rootPrefix,
  run,
  SetupError,
  say,
  which,
  withLock,
} from './common.mjs';
import { engine, ensureDocker } from './docker.mjs';

/** A shell and the small tools: 2 MB, made in a second. */
export const BUSYBOX_IMAGE = 'berth/busybox:test';
/** Debian's own minimal Python 3.11 on minbase: 198 MB, made in about 90 s, once. */
export const PYTHON_IMAGE = 'berth/python:test';

const PATH_CHANGE = 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

const RECIPES = {
  [BUSYBOX_IMAGE]: { tarball: 'busybox-1.tar', make: makeBusybox, command: '["sh"]' },
  [PYTHON_IMAGE]: { tarball: 'python-bookworm-1.tar', make: makePython, command: '["python3"]' },
};

async function makeBusybox(tarball) {
  const program = which('busybox', ['/bin', '/usr/bin']) ?? (await installed('busybox-static', 'busybox'));
  if ((await run('ldd', [program])).code === 0)
    await aptInstall('busybox-static', 'image: this busybox is not a static one');
  const { stdout } = await run(program, ['--list']);
  const root = mkdtempSync(join(tmpdir(), 'berth-busybox-'));
  try {
    for (const dir of ['bin', 'tmp', 'etc', 'root', 'proc', 'sys', 'dev']) mkdirSync(join(root, dir));
    copyFileSync(program, join(root, 'bin', 'busybox'));
    for (const applet of stdout.split('\n').filter((name) => name !== '' && name !== 'busybox')) {
      symlinkSync('busybox', join(root, 'bin', applet));
    }
    const tar = await run('tar', ['--owner=0', '--group=0', '--numeric-owner', '-C', root, '-cf', tarball, '.']);
    if (tar.code !== 0)
      throw new SetupError(`image: tar failed: ${tar.stderr.trim()}`, 'free disk space and run again');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

async function makePython(tarball) {
  const program = which('mmdebstrap') ?? (await installed('mmdebstrap', 'mmdebstrap'));
  const prefix = isRoot() ? [] : ((await rootPrefix()) ?? []); // without root, mmdebstrap tries user namespaces
  const args = ['--variant=minbase', '--include=python3-minimal', '--format=tar', 'bookworm', '-'];
  const command = [...prefix, program, ...args].map((part) => `'${part}'`).join(' ');
  say('image: building a root file system with Python (about 90 s, once)');
  const done = await run('sh', ['-c', `${command} > '${tarball}'`], { timeoutSeconds: 900 });
  if (done.code === 0) return;
  const last = done.stderr.trim().split('\n').slice(-2).join(' | ');
  throw new SetupError(
    `image: mmdebstrap ended with ${done.code}: ${last}`,
    'make a Debian mirror reachable, or run as root',
  );
}

async function installed(debianPackage, program) {
  await aptInstall(debianPackage, `image: ${program} is not installed`);
  return which(program, ['/bin', '/usr/bin', '/usr/sbin']) ?? program;
}

/** The tarball appears under its name only when it is whole, so a killed set-up leaves nothing half. */
async function cachedTarball({ tarball, make }) {
  const file = join(cacheDir('images'), tarball);
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

const isThere = async (name) => (await engine('GET', `/images/${name}/json`)).status === 200;

async function importImage(name, recipe) {
  const file = await cachedTarball(recipe);
  const [repo, tag] = name.split(':');
  const query = new URLSearchParams({ fromSrc: '-', repo, tag });
  for (const change of [`CMD ${recipe.command}`, PATH_CHANGE]) query.append('changes', change);
  const options = { body: createReadStream(file), timeoutSeconds: 300, contentType: 'application/x-tar' };
  const { status, text } = await engine('POST', `/images/create?${query}`, options);
  if (status !== 200 || text.includes('"error"')) {
    throw new SetupError(`image: the engine refused ${name}: ${text.slice(0, 300)}`, `remove ${file} and run again`);
  }
}

/** Both images in the engine. What is there already costs one call each. */
export async function ensureImages(names = [BUSYBOX_IMAGE, PYTHON_IMAGE]) {
  await ensureDocker();
  const made = [];
  for (const name of names) {
    if (await isThere(name)) continue;
    await withLock(`image-${name.replace(/\W/g, '-')}`, async () => {
      if (await isThere(name)) return;
      await importImage(name, RECIPES[name]);
      made.push(name);
    });
  }
  return { names, made };
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { names, made } = await ensureImages();
    say(`image: ${names.join(', ')} (${made.length === 0 ? 'already there' : `made ${made.join(', ')}`})`);
  });
}
