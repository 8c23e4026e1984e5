import {
  foundKernelSchema,
  type HealthCheck,
  healthCheckSchema,
  type LaunchOrder,
  noticeSchema,
  type Reconcile,
} from '../contract/index.js';
import type { ContainerState } from '../docker/container-state.js';
import type { AssignedPort } from './ports.js';

export type FoundKernel = Reconcile['kernels'][number];

/** What a container carries, so that an agent that starts anew knows all about it without a file of its own. */
export const LABEL = {
  node: 'berth.node',
  session: 'berth.session',
  kernel: 'berth.kernel',
  attempt: 'berth.attempt',
  epoch: 'berth.epoch',
  role: 'berth.role',
  health: 'berth.health',
  metrics: 'berth.metrics',
  ports: 'berth.ports',
  grace: 'berth.grace',
  notice: 'berth.notice',
  contactLimit: 'berth.contact-limit',
  /** Of a member's anchor alone: its devices. */
  anchor: 'berth.anchor',
} as const;

const GRACE_SECONDS_DEFAULT = 10;

/** One kernel's run: containers, ports, marks and log files are kept under it. */
export interface KernelRun {
  readonly kernelId: string;
  readonly attempt: number;
}

export const runKey = ({ kernelId, attempt }: KernelRun): string => `${kernelId}-${attempt}`;
export const containerName = (run: KernelRun): string => `berth-${runKey(run)}`;
export const networkName = (sessionId: string): string => `berth-${sessionId}`;
/** Where sessions of one kernel live: they reach the outside, and not one another. One for all, since an engine has few networks. */
export const SOLO_NETWORK = 'berth-solo';

/** A device of a member, as its anchor's label tells it. */
export interface AnchorDevice {
  readonly id: string;
  readonly memoryBytes: number;
  readonly simulated: boolean;
}

export interface KernelContainer extends FoundKernel {
  readonly name: string;
  readonly role: string;
  readonly health: HealthCheck | null;
  /** Of a deployment's replica: where its figures are read. */
  readonly metrics: LaunchOrder['metrics'];
  readonly ports: readonly AssignedPort[];
  readonly graceSeconds: number;
  readonly notice: LaunchOrder['notice'];
  /** How long it may run while the agent is out of contact; undefined: for ever, since it is started nowhere else. */
  readonly contactLimitSeconds: number | undefined;
  /** Of a member's anchor: the devices of the member. Undefined for any other kernel. */
  readonly anchorDevices: readonly AnchorDevice[] | undefined;
  readonly container: ContainerState;
}

export function kernelLabels(
  node: string,
  order: LaunchOrder,
  ports: readonly AssignedPort[],
): Readonly<Record<string, string>> {
  return {
    [LABEL.node]: node,
    [LABEL.session]: order.sessionId,
    [LABEL.kernel]: order.kernelId,
    [LABEL.attempt]: String(order.attempt),
    [LABEL.epoch]: String(order.epoch),
    [LABEL.role]: order.role,
    [LABEL.ports]: JSON.stringify(ports),
    [LABEL.grace]: String(order.gracePeriodSeconds),
    [LABEL.notice]: JSON.stringify(order.notice),
    ...(order.retryable && { [LABEL.contactLimit]: String(order.contactLimitSeconds) }),
    ...(order.ipc === 'shareable' && { [LABEL.anchor]: JSON.stringify(order.devices.map(anchorDevice)) }),
    ...(order.healthCheck !== null && { [LABEL.health]: JSON.stringify(order.healthCheck) }),
    ...(order.metrics !== null && { [LABEL.metrics]: JSON.stringify(order.metrics) }),
  };
}

const anchorDevice = ({ id, memoryBytes, simulated }: LaunchOrder['devices'][number]): AnchorDevice => ({
  id,
  memoryBytes,
  simulated,
});

/** Undefined for a container whose labels this agent did not write: it is left alone. */
export function readKernel(container: ContainerState): KernelContainer | undefined {
  const { labels } = container;
  const found = foundKernelSchema.safeParse({
    kernelId: labels[LABEL.kernel],
    sessionId: labels[LABEL.session],
    attempt: Number(labels[LABEL.attempt]),
    epoch: Number(labels[LABEL.epoch]),
    state: foundState(container),
  });
  if (!found.success) return undefined;
  const grace = Number(labels[LABEL.grace]);
  const contactLimit = Number(labels[LABEL.contactLimit]);
  return {
    ...found.data,
    name: container.name,
    role: labels[LABEL.role] ?? '',
    health: healthCheckSchema.safeParse(json(labels[LABEL.health])).data ?? null,
    metrics: (json(labels[LABEL.metrics]) ?? null) as LaunchOrder['metrics'],
    ports: (json(labels[LABEL.ports]) ?? []) as readonly AssignedPort[],
    graceSeconds: Number.isFinite(grace) ? grace : GRACE_SECONDS_DEFAULT,
    notice: noticeSchema.safeParse(json(labels[LABEL.notice])).data ?? noticeSchema.parse({}),
    contactLimitSeconds: Number.isFinite(contactLimit) ? contactLimit : undefined,
    anchorDevices: json(labels[LABEL.anchor]) as readonly AnchorDevice[] | undefined,
    container,
  };
}

function foundState({ status }: ContainerState): FoundKernel['state'] {
  if (status === 'created') return 'created';
  return status === 'running' || status === 'paused' || status === 'restarting' ? 'running' : 'exited';
}

function json(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
