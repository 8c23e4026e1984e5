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

/** Everything needs it. */
export const BUILD = {
  name: 'build',
  command: [process.execPath, join(PROJECT_ROOT, 'infra/ensure-built.mjs'), '--strict'],
  minutes: 10,
};

/** Programs that answer with their exit code. Each counts as one. */
const CHECKS = [
  { name: 'types', command: [bin('tsc'), '--noEmit'], minutes: 20 },
  { name: 'format', command: [bin('biome'), 'check'], minutes: 10 },
  { name: 'imports', command: [bin('depcruise'), 'src', 'workflows', 'activities', 'workers'], minutes: 20 },
  {
    name: 'lint',
    command: [bin('eslint'), 'src', 'workflows', 'activities', 'workers', 'infra', 'test'],
    minutes: 30,
  },
];

/** vitest's projects; `needs` names the set-up without which a project cannot run. */
const project = (name, minutes, needs = []) => ({ name, minutes, needs, isTests: true });
const ALL = ['temporal', 'docker', 'images', 'postgres'];
export const PROJECTS = [
  project('unit', 15),
  project('workflow', 30, ['temporal', 'postgres']),
  project('integration', 45, ALL),
  project('e2e', 45, ALL),
  project('property', 30),
];
const named = (...names) => PROJECTS.filter(({ name }) => names.includes(name));

/**
 * Side by side. What waits for containers and timers runs at full priority; what only computes takes the time that those
 * leave, so that it neither slows them nor costs much time of its own.
 */
export const LANES = [
  { nice: 0, parts: named('unit', 'workflow', 'integration', 'e2e') },
  { nice: 15, parts: [...CHECKS, ...named('property')] },
];
