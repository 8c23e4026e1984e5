// What `npm test` is made of, in order. Each part has its own limit, so that nothing can hang.
import { join } from 'node:path';
import { PROJECT_ROOT } from '../setup/common.mjs';

const bin = (name) => join(PROJECT_ROOT, 'node_modules', '.bin', name);

/** Made before anything is tested. When one fails, the parts that need it fail with its reason. */
export const SETUP = [
  { name: 'packages', load: () => import('../setup/npm.mjs'), make: (script) => script.ensurePackages() },
  {
    name: 'temporal',
    load: () => import('../setup/temporal.mjs'),
    make: (script) => script.ensureTemporal(script.findTemporalProgram),
  },
  { name: 'docker', load: () => import('../setup/docker.mjs'), make: (script) => script.ensureDocker() },
  { name: 'images', load: () => import('../setup/image.mjs'), make: (script) => script.ensureImages() },
  { name: 'postgres', load: () => import('../setup/postgres.mjs'), make: (script) => script.ensurePostgres() },
];

/** Programs that answer with their exit code. Each counts as one. The build comes first, then the lanes side by side. */
const BUILD = {
  name: 'build',
  command: [process.execPath, join(PROJECT_ROOT, 'infra/ensure-built.mjs'), '--strict'],
  minutes: 10,
};
const LINT = {
  name: 'lint',
  command: [bin('eslint'), 'src', 'workflows', 'activities', 'workers', 'infra', 'test'],
  minutes: 15,
};
const QUICK = [
  { name: 'types', command: [bin('tsc'), '--noEmit'], minutes: 10 },
  { name: 'format', command: [bin('biome'), 'check'], minutes: 5 },
  { name: 'imports', command: [bin('depcruise'), 'src', 'workflows', 'activities', 'workers'], minutes: 10 },
];
export const CHECK_STAGES = [[[BUILD]], [[LINT], QUICK]];
export const CHECKS = CHECK_STAGES.flat(2);

/** vitest's projects; `needs` names the set-up without which a project cannot run. */
export const PROJECTS = [
  { name: 'unit', needs: [], minutes: 10 },
  { name: 'property', needs: [], minutes: 15 },
  { name: 'workflow', needs: ['temporal', 'postgres'], minutes: 30 },
  { name: 'integration', needs: ['temporal', 'docker', 'images', 'postgres'], minutes: 45 },
  { name: 'e2e', needs: ['temporal', 'docker', 'images', 'postgres'], minutes: 45 },
];
