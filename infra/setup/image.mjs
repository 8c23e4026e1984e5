// The images of the tests and the quick start, made from root file systems: no registry is needed.
import { copyFileSync, mkdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { aptInstall, isMain, main, run, say, which } from './common.mjs';
import { ensureDocker } from './docker.mjs';
import {
  cachedTarball,
  debianRoot,
  ensureImage,
  importImage,
  inScratch,
  PATH_CHANGE,
  tarFolder,
} from './image-store.mjs';

/** A shell and the small tools: 2 MB, made in a second. */
export const BUSYBOX_IMAGE = 'berth/busybox:test';
/** Debian's whole Python 3.11 on minbase: about 220 MB, made in about 90 s, once. Other images of the project stand on it. */
export const PYTHON_IMAGE = 'berth/python:test';

/** A change of a recipe is a new tarball, and thereby a new image. */
const RECIPES = {
  [BUSYBOX_IMAGE]: { tarball: 'busybox-1.tar', make: makeBusybox, command: '["sh"]' },
  [PYTHON_IMAGE]: { tarball: 'python-bookworm-2.tar', make: makePython, command: '["python3"]' },
};

async function makeBusybox(tarball) {
  const program = which('busybox', ['/bin', '/usr/bin']) ?? (await installed('busybox-static', 'busybox'));
  if ((await run('ldd', [program])).code === 0)
    await aptInstall('busybox-static', 'image: this busybox is not a static one');
  const { stdout } = await run(program, ['--list']);
  await inScratch('busybox', async (root) => {
    for (const dir of ['bin', 'tmp', 'etc', 'root', 'proc', 'sys', 'dev']) mkdirSync(join(root, dir));
    copyFileSync(program, join(root, 'bin', 'busybox'));
    for (const applet of stdout.split('\n').filter((name) => name !== '' && name !== 'busybox')) {
      symlinkSync('busybox', join(root, 'bin', applet));
    }
    await tarFolder(root, tarball);
  });
}

async function makePython(tarball) {
  say('image: building a root file system with Python (about 90 s, once)');
  await debianRoot(tarball, ['python3', 'ca-certificates']);
}

async function installed(debianPackage, program) {
  await aptInstall(debianPackage, `image: ${program} is not installed`);
  return which(program, ['/bin', '/usr/bin', '/usr/sbin']) ?? program;
}

async function makeImage({ name, source }) {
  const { make, command } = RECIPES[name];
  const file = await cachedTarball(source, make);
  await importImage({ name, source, file, changes: [`CMD ${command}`, PATH_CHANGE] });
}

/** Both images in the engine. What is there already costs one call each. */
export async function ensureImages(names = [BUSYBOX_IMAGE, PYTHON_IMAGE]) {
  await ensureDocker();
  const made = [];
  for (const name of names) {
    if (await ensureImage({ name, source: RECIPES[name].tarball, make: makeImage })) made.push(name);
  }
  return { names, made };
}

/** The image that others stand on, and the name of its recipe. */
export async function ensurePythonImage() {
  await ensureImages([PYTHON_IMAGE]);
  return { name: PYTHON_IMAGE, source: RECIPES[PYTHON_IMAGE].tarball };
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { names, made } = await ensureImages();
    say(`image: ${names.join(', ')} (${made.length === 0 ? 'already there' : `made ${made.join(', ')}`})`);
  });
}
