import type { StateDir } from '../../platform/state-dir.js';
import { type Check, type CheckResult, fail } from './check.js';
import { installationChecks } from './installation-checks.js';
import { machineChecks } from './machine-checks.js';
import { versionCheck } from './version-check.js';

/** A check that breaks is a finding too, never the end of the others. */
async function carryOut(check: Check): Promise<CheckResult> {
  const { name } = check;
  try {
    return { name, ...(await check.look()) };
  } catch (error) {
    const detail = error instanceof Error ? error.message : String(error);
    return { name, ...fail(`could not be looked at: ${detail}`, 'mend what the message names') };
  }
}

/** Looks at the machine, the state directory and what runs, and changes nothing. */
export function doctor(state: StateDir, env: NodeJS.ProcessEnv): Promise<CheckResult[]> {
  const checks = [...machineChecks(state.root, env), ...installationChecks(state), versionCheck(state, env)];
  return Promise.all(checks.map(carryOut));
}
