import { DEPLOYMENT_NAME } from '../../lifecycle/names.js';
import type { StateDir } from '../../platform/state-dir.js';
import { type Check, type Finding, fail, ok, warn } from './check.js';
import { currentVersion } from './current-version.js';
import { temporalAddress } from './installation.js';
import { findTemporalProgram } from './programs.js';
import { readInstallation } from './read-installation.js';
import { liveRunStatus } from './run-status.js';

const MEND = 'berth down, then berth up: the control worker sets the version once it polls';

/** Without a current version Temporal hands out no workflow task at all, and says nothing about it. */
async function look(state: StateDir, env: NodeJS.ProcessEnv): Promise<Finding> {
  if (liveRunStatus(state) === undefined) return ok('Berth does not run');
  const program = findTemporalProgram(env);
  if (program === undefined) return warn('not looked at: no `temporal` program', 'node infra/setup/temporal.mjs');
  const berth = readInstallation(state, env);
  try {
    const current = await currentVersion(program, temporalAddress(berth));
    if (current === berth.buildId) return ok(`workflow code ${current} is current`);
    if (current === '') return fail('no version of the workflow code is current: nothing runs', MEND);
    return warn(`version ${current} is current, this build is ${berth.buildId}`, MEND);
  } catch {
    return fail(`Temporal knows no worker deployment ${DEPLOYMENT_NAME}: no control worker has polled`, MEND);
  }
}

export const versionCheck = (state: StateDir, env: NodeJS.ProcessEnv): Check => ({
  name: 'workflow version',
  look: () => look(state, env),
});
