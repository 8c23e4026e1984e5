import { DEPLOYMENT_NAME } from '../../lifecycle/names.js';
import type { StateDir } from '../../platform/state-dir.js';
import { type Check, type Finding, fail, ok, warn } from './check.js';
import { temporalAddress } from './installation.js';
import { temporalCli } from './probes.js';
import { findTemporalProgram } from './programs.js';
import { readInstallation } from './read-installation.js';
import { liveRunStatus } from './run-status.js';

const MEND = 'berth down, then berth up: the control worker sets the version once it polls';

interface Deployment {
  readonly routingConfig?: { readonly currentVersionBuildID?: string };
}

/** Without a current version Temporal hands out no workflow task at all, and says nothing about it. */
async function currentVersion(state: StateDir, env: NodeJS.ProcessEnv): Promise<Finding> {
  if (liveRunStatus(state) === undefined) return ok('Berth does not run');
  const program = findTemporalProgram(env);
  if (program === undefined) return warn('not looked at: no `temporal` program', 'node infra/setup/temporal.mjs');
  const berth = readInstallation(state, env);
  const describe = ['worker', 'deployment', 'describe', '--name', DEPLOYMENT_NAME, '--output', 'json'];
  try {
    const text = await temporalCli(program, temporalAddress(berth), describe);
    const current = (JSON.parse(text) as Deployment).routingConfig?.currentVersionBuildID ?? '';
    if (current === berth.buildId) return ok(`workflow code ${current} is current`);
    if (current === '') return fail('no version of the workflow code is current: nothing runs', MEND);
    return warn(`version ${current} is current, this build is ${berth.buildId}`, MEND);
  } catch {
    return fail(`Temporal knows no worker deployment ${DEPLOYMENT_NAME}: no control worker has polled`, MEND);
  }
}

export const versionCheck = (state: StateDir, env: NodeJS.ProcessEnv): Check => ({
  name: 'workflow version',
  look: () => currentVersion(state, env),
});
