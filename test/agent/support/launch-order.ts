import { typeid } from 'typeid-js';
import type { KernelId, LaunchOrder, SessionId } from '../../../src/contract/index.js';
import { newSessionId } from '../../../src/platform/ids.js';

export const newKernelId = (): KernelId => typeid('krn').toString() as KernelId;

/** An order of a session of one kernel that sleeps until it is told to end. */
export function launchOrder(image: string, changes: Partial<LaunchOrder> = {}): LaunchOrder {
  const sessionId: SessionId = changes.sessionId ?? newSessionId();
  return {
    sessionId,
    kernelId: newKernelId(),
    attempt: 1,
    epoch: 1,
    deadline: new Date(Date.now() + 60_000).toISOString(),
    sessionName: 'test',
    role: 'main',
    rank: 0,
    size: 1,
    hostname: 'main',
    image,
    registryCredentials: null,
    entrypoint: null,
    command: ['sh', '-c', 'trap "exit 0" TERM; sleep 600 & wait'],
    workdir: null,
    environment: {},
    cpuMilli: 100,
    memoryBytes: 64 * 1024 * 1024,
    devices: [],
    mounts: [],
    ports: [],
    healthCheck: null,
    metrics: null,
    gracePeriodSeconds: 1,
    notice: { signal: 'SIGTERM' },
    retryable: true,
    contactLimitSeconds: 240,
    ipc: 'private',
    peers: [],
    ...changes,
  };
}

/** A simulated device of 16 GiB, whole unless `changes` say otherwise. */
export const orderedDevice = (index: number, changes: Partial<LaunchOrder['devices'][number]> = {}) => ({
  id: `sim-${index}`,
  index,
  model: 'simulated T4',
  memoryBytes: 16 * 2 ** 30,
  simulated: true,
  healthy: true,
  sharing: 'none' as const,
  parentId: null,
  share: null,
  ...changes,
});
