// The simulated engine's image: Python's standard library on Berth's own Python image. Nothing is pulled; seconds to make.
//   node infra/images/simulated-engine.mjs
import { chmodSync, cpSync, readdirSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { isMain, main, PROJECT_ROOT, say } from '../setup/common.mjs';
import { ensurePythonImage } from '../setup/image.mjs';
import { buildImage, ensureImage, hashOf, inScratch, tarFolder } from '../setup/image-store.mjs';

/** Answers as vLLM and SGLang do, and takes memory of simulated GPUs. No model runs in it. */
export const SIMULATED_ENGINE_IMAGE = 'berth/simulated-engine:1';

const PROGRAM = join(PROJECT_ROOT, 'infra', 'images', 'simulated-engine');
const HOME = '/opt/simulated-engine';

const dockerfile = (base) => `FROM ${base}
COPY bin /usr/local/bin
COPY . ${HOME}
ENV PYTHONPATH=${HOME} PYTHONDONTWRITEBYTECODE=1 MALLOC_ARENA_MAX=1
EXPOSE 8000
CMD ["vllm", "serve", "simulated-model"]
`;

const isProgram = (path) => !path.includes('__pycache__');

function programFiles() {
  const entries = readdirSync(PROGRAM, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.filter((file) => isProgram(relative(PROGRAM, file))).sort();
}

/** The image in the engine, made anew where its program or the image below has changed. Throws `SetupError`. */
export async function ensureSimulatedEngineImage() {
  const base = await ensurePythonImage();
  const recipe = dockerfile(base.name);
  const source = `${base.source}-${hashOf([...programFiles(), import.meta.filename])}`;
  const make = () =>
    inScratch('simulated-engine', async (folder) => {
      const root = join(folder, 'root');
      cpSync(PROGRAM, root, { recursive: true, filter: isProgram });
      for (const name of readdirSync(join(root, 'bin'))) chmodSync(join(root, 'bin', name), 0o755);
      writeFileSync(join(root, 'Dockerfile'), recipe);
      const file = join(folder, 'context.tar');
      await tarFolder(root, file);
      await buildImage({ name: SIMULATED_ENGINE_IMAGE, source, file });
    });
  const isMade = await ensureImage({ name: SIMULATED_ENGINE_IMAGE, source, make });
  return { name: SIMULATED_ENGINE_IMAGE, how: isMade ? 'made' : 'already there' };
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const { name, how } = await ensureSimulatedEngineImage();
    say(`simulated engine: ${name} (${how})`);
  });
}
