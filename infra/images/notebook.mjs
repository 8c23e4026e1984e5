// The notebook image: JupyterLab from PyPI on Berth's own Python image. No image registry is needed.
//   node infra/images/notebook.mjs
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isMain, main, run, SetupError, say, which } from '../setup/common.mjs';
import { ensurePythonImage } from '../setup/image.mjs';
import { buildImage, cachedTarball, ensureImage, inScratch, step, tarFolder } from '../setup/image-store.mjs';

/** JupyterLab on port 8888. Berth's gateway is its only door, so it asks for no token of its own. */
export const NOTEBOOK_IMAGE = 'berth/notebook:2';

/** A change here is a new tarball, and thereby a new image. */
const TARBALL = 'notebook-layer-3.tar';
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

const dockerfile = (base) => `FROM ${base}
COPY root /
ENV HOME=/root LANG=C.UTF-8 PYTHONPATH=${HOME} JUPYTER_PATH=${HOME}/share/jupyter
ENV JUPYTER_CONFIG_PATH=${HOME}/etc/jupyter JUPYTERLAB_DIR=${HOME}/share/jupyter/lab
WORKDIR /root
CMD ["notebook"]
`;

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
    'notebook: pip',
    [python, '-m', 'pip', 'install', ...quiet, ...wheels, ...target, ...PACKAGES],
    'make PyPI reachable',
  );
  const bin = join(root, 'usr', 'local', 'bin');
  mkdirSync(bin, { recursive: true });
  writeFileSync(join(bin, 'notebook'), START, { mode: 0o755 });
}

/** What the engine builds from: a Dockerfile, and the files that come on top of the Python image. */
function makeContext(base) {
  return (tarball) =>
    inScratch('notebook', async (folder) => {
      say('notebook: installing JupyterLab (1 to 3 min, once)');
      mkdirSync(join(folder, 'root'));
      await jupyter(join(folder, 'root'));
      writeFileSync(join(folder, 'Dockerfile'), dockerfile(base));
      await tarFolder(folder, tarball);
    });
}

/** The image in the engine: one call when it is there, seconds from the cache, minutes the first time. */
export async function ensureNotebookImage() {
  const base = await ensurePythonImage();
  const source = `${TARBALL}-${base.source}`;
  const make = async () => {
    const file = await cachedTarball(TARBALL, makeContext(base.name));
    await buildImage({ name: NOTEBOOK_IMAGE, source, file });
  };
  const isMade = await ensureImage({ name: NOTEBOOK_IMAGE, source, make });
  return { name: NOTEBOOK_IMAGE, how: isMade ? 'made' : 'already there' };
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { name, how } = await ensureNotebookImage();
    say(`notebook: ${name} (${how})`);
  });
}
