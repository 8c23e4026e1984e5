import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Client } from '../../src/sdk/index.js';

export interface FailedRequest {
  /** As performance.now() tells it. */
  readonly beganMs: number;
  readonly why: string;
}
export interface EndpointLoad {
  readonly sent: () => number;
  /** Those that were not answered as they should be. */
  stop(): Promise<readonly FailedRequest[]>;
}

export interface LoadedEndpoint {
  readonly client: Client;
  readonly gatewayUrl: string;
  /** Of the deployment; its token is made here. */
  readonly name: string;
  readonly path: string;
  readonly isGood: (status: number, body: string) => boolean;
}

const AT_ONCE = 2;
const PAUSE_MS = 30;
const TIMEOUT_MS = 20_000;

/** Requests at a deployment's endpoint, two at a time, one after another. */
export async function loadEndpoint({ client, gatewayUrl, name, path, isGood }: LoadedEndpoint): Promise<EndpointLoad> {
  const { token } = await client.deployments.createToken(name, {
    name: `load-${randomBytes(4).toString('hex')}`,
    expiresInSeconds: 3600,
  });
  const url = new URL(`/deployments/${name}${path}`, gatewayUrl);
  const failed: FailedRequest[] = [];
  let sent = 0;
  let isOver = false;
  const ask = async (): Promise<void> => {
    const beganMs = performance.now();
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const why = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal }).then(
      async (answer) => (isGood(answer.status, await answer.text()) ? null : `status ${answer.status}`),
      (error: unknown) => String((error as Error).cause ?? error),
    );
    sent += 1;
    if (why !== null) failed.push({ beganMs, why });
  };
  const lanes = Array.from({ length: AT_ONCE }, async () => {
    while (!isOver) {
      await ask();
      await pause(PAUSE_MS);
    }
  });
  return {
    sent: () => sent,
    async stop() {
      isOver = true;
      await Promise.all(lanes);
      return failed;
    },
  };
}
