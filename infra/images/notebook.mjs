// The notebook image: Debian's root file system with the whole python3, and JupyterLab from PyPI. No registry is needed.
//   node infra/images/notebook.mjs
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
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
} from '../setup/common.mjs';
import { engine, ensureDocker } from '../setup/docker.mjs';

/** JupyterLab on port 8888. Berth's gateway is its only door, so it asks for no token of its own. */
export const NOTEBOOK_IMAGE = 'berth/notebook:2';

/** A change here is a new tarball and a new tag. */
const TARBALL = 'notebook-bookworm-2.tar';
const PACKAGES = ['jupyterlab==4.4.10', 'ipykernel==6.30.1'];
const HOME = '/opt/jupyter';
/** Debian bookworm's. */
const PYTHON = '3.11';

const START = `#!/bin/sh
# Berth's gateway authenticates whoever comes; Host and Origin reach it as the browser sent them.
exec python3 -m jupyterlab --ip=0.0.0.0 --port="\${PORT:-8888}" --no-browser --allow-root \\
  --IdentityProvider.token='' --ServerApp.allow_remote_access=True --ServerApp.root_dir="\${NOTEBOOK_DIR:-/root}" \\
  --LabApp.news_url=None --LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate \\
  --LabApp.extension_manager=readonly "$@"
`;

const CHANGES = [
  'CMD ["notebook"]',
  'WORKDIR /root',
  'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  'ENV HOME=/root',
  'ENV LANG=C.UTF-8',
  `ENV PYTHONPATH=${HOME}`,
  `ENV JUPYTER_PATH=${HOME}/share/jupyter`,
  `ENV JUPYTER_CONFIG_PATH=${HOME}/etc/jupyter`,
  `ENV JUPYTERLAB_DIR=${HOME}/share/jupyter/lab`,
];

/** Runs a step of the build, or says what it said last. */
async function step(what, [program, ...args], mend) {
  const done = await run(program, args, { timeoutSeconds: 900 });
  if (done.code === 0) return;
  const last = (done.stderr || done.stdout).trim().split('\n').slice(-3).join(' | ');
  throw new SetupError(`notebook: ${what} ended with ${done.code}: ${last}`, mend);
}

async function rootFileSystem(tarball) {
  if (which('mmdebstrap') === undefined) await aptInstall('mmdebstrap', 'notebook: mmdebstrap is not installed');
  const prefix = isRoot() ? [] : ((await rootPrefix()) ?? []); // without root, mmdebstrap tries user namespaces
  const quoted = [...prefix, 'mmdebstrap', '--variant=minbase', '--include=python3,ca-certificates', '--format=tar']
    .concat('bookworm', '-')
    .map((part) => `'${part}'`)
    .join(' ');
  const mend = 'make a Debian mirror reachable, or run as root';
  await step('mmdebstrap', ['sh', '-c', `${quoted} > '${tarball}'`], mend);
}

/** Wheels for the image's Python, whatever Python this machine has. */
async function jupyter(root) {
  const python = which('python3') ?? which('python');
  if (python === undefined) throw new SetupError('notebook: there is no python3 here', 'install python3 with pip');
  const wheels = ['--only-binary=:all:', '--python-version', PYTHON, '--implementation', 'cp'];
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64';
  for (const glibc of ['manylinux2014', 'manylinux_2_28', 'manylinux_2_17']) {
    wheels.push('--platform', `${glibc}_${machine}`);
  }
  const version = await run(python, ['-c', 'import sys; print("%d.%d" % sys.version_info[:2])']);
  const compiled = version.stdout.trim() === PYTHON ? [] : ['--no-compile']; // by another Python it would be of no use
  const quiet = ['--quiet', '--disable-pip-version-check', '--root-user-action=ignore', ...compiled];
  const target = ['--target', join(root, HOME)];
  await step(
    'pip',
    [python, '-m', 'pip', 'install', ...quiet, ...wheels, ...target, ...PACKAGES],
    'make PyPI reachable',
  );
  const bin = join(root, 'usr', 'local', 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'notebook'), START, { mode: 0o755 });
}

async function build(tarball) {
  say('notebook: building a root file system with JupyterLab (2 to 4 min, once)');
  const root = mkdtempSync(join(tmpdir(), 'berth-notebook-'));
  try {
    await rootFileSystem(tarball);
    await jupyter(root);
    const owner = ['--owner=0', '--group=0', '--numeric-owner'];
    // Files alone: an engine refuses a second entry for a folder that is there.
    const files = readdirSync(root, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory());
    const list = join(root, 'files');
    writeFileSync(list, files.map((entry) => `./${relative(root, join(entry.parentPath, entry.name))}\n`).join(''));
    await step('tar', ['tar', '-rf', tarball, ...owner, '-C', root, '-T', list], 'free disk space and run again');
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

/** The tarball appears under its name only when it is whole, so a killed build leaves nothing half. */
async function cachedTarball() {
  const file = join(cacheDir('images'), TARBALL);
  if (existsSync(file)) return file;
  const partial = `${file}.${process.pid}`;
  try {
    await build(partial);
    renameSync(partial, file);
  } finally {
    rmSync(partial, { force: true });
  }
  return file;
}

const isThere = async () => (await engine('GET', `/images/${NOTEBOOK_IMAGE}/json`)).status === 200;

async function importImage(file) {
  const [repo, tag] = NOTEBOOK_IMAGE.split(':');
  const query = new URLSearchParams({ fromSrc: '-', repo, tag });
  for (const change of CHANGES) query.append('changes', change);
  const options = { body: createReadStream(file), timeoutSeconds: 300, contentType: 'application/x-tar' };
  const { status, text } = await engine('POST', `/images/create?${query}`, options);
  if (status === 200 && !text.includes('"error"')) return;
  throw new SetupError(`notebook: the engine refused it: ${text.slice(0, 300)}`, `remove ${file} and run again`);
}

/** The image in the engine: one call when it is there, seconds from the cache, minutes the first time. */
export async function ensureNotebookImage() {
  await ensureDocker();
  if (await isThere()) return { name: NOTEBOOK_IMAGE, how: 'already there' };
  return withLock('image-notebook', async () => {
    if (await isThere()) return { name: NOTEBOOK_IMAGE, how: 'already there' };
    await importImage(await cachedTarball());
    return { name: NOTEBOOK_IMAGE, how: 'made' };
  });
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { name, how } = await ensureNotebookImage();
    say(`notebook: ${name} (${how})`);
  });
}
