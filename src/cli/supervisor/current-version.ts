import { DEPLOYMENT_NAME } from '../../lifecycle/names.js';
import { temporalCli } from './probes.js';

const DESCRIBE = ['worker', 'deployment', 'describe', '--name', DEPLOYMENT_NAME, '--output', 'json'];
const ASK_EVERY_MS = 300;

interface Deployment {
  readonly routingConfig?: { readonly currentVersionBuildID?: string };
}

/** The build of the workflow code that runs; empty when none is set. Rejects when no control worker ever polled. */
export async function currentVersion(program: string, address: string): Promise<string> {
  const deployment = JSON.parse(await temporalCli(program, address, DESCRIBE)) as Deployment;
  return deployment.routingConfig?.currentVersionBuildID ?? '';
}

/** Waits until some version is current; rejects after `timeoutSeconds`. Until then a versioned queue runs nothing. */
export async function untilVersioned(program: string, address: string, timeoutSeconds: number): Promise<void> {
  const deadline = performance.now() + timeoutSeconds * 1000;
  while ((await currentVersion(program, address).catch(() => '')) === '') {
    if (performance.now() > deadline) throw new Error(`no version of ${DEPLOYMENT_NAME} is current: nothing runs`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}
