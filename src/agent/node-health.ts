import type { NodeHealthReport } from '../contract/index.js';
import { DeviceFailure, type DeviceFault, type DeviceProvider, type FoundDevice } from '../devices/device-provider.js';
import type { Containers } from '../docker/containers.js';
import type { Logger } from '../platform/log.js';
import type { AgentApi } from './api-client.js';
import { pause } from './retry.js';
import { type Check, runCheck } from './run-check.js';

export interface HealthSettings {
  /** The configured check of the machine, if any. */
  readonly check?: MachineCheck | undefined;
  readonly devicesEveryMs?: number;
  readonly reportEveryMs?: number;
}

export interface MachineCheck extends Check {
  readonly intervalSeconds: number;
  /** So many in a row make the node unhealthy; one success makes it healthy. */
  readonly failures: number;
}

export interface NodeHealthDeps {
  readonly api: Pick<AgentApi, 'reportHealth'>;
  readonly devices: Pick<DeviceProvider, 'faults'>;
  readonly containers: Pick<Containers, 'images'>;
  readonly log: Logger;
}

/** The machine's own health and its images: told when they change, and each minute. */
export interface NodeHealth {
  /** The node is registered, with these devices: before that nothing is told. */
  readonly begin: (devices: readonly FoundDevice[]) => void;
  readonly imagesChanged: () => void;
  readonly run: (signal: AbortSignal) => Promise<void>;
}

const EVERY_MS_DEFAULT = 60_000;
const AGAIN_MS = 5_000;
/** A driver may be slow once. */
const DRIVER_FAILURES_MAX = 2;
const IMAGES_MAX = 500;
const REASON_CHARACTERS_MAX = 500;

interface Found {
  checkFault: string | undefined;
  driverFault: string | undefined;
  deviceFaults: readonly DeviceFault[];
}

export function createNodeHealth(deps: NodeHealthDeps, settings: HealthSettings = {}): NodeHealth {
  const { devicesEveryMs = EVERY_MS_DEFAULT, reportEveryMs = EVERY_MS_DEFAULT, check } = settings;
  const found: Found = { checkFault: undefined, driverFault: undefined, deviceFaults: [] };
  let begin: (devices: readonly FoundDevice[]) => void = () => undefined;
  const begun = new Promise<readonly FoundDevice[]>((resolve) => {
    begin = resolve;
  });
  let changed = new AbortController();
  const change = (): void => changed.abort();
  const set = (news: Partial<Found>): void => {
    const before = JSON.stringify(found);
    Object.assign(found, news);
    if (JSON.stringify(found) === before) return;
    deps.log.warn({ ...found }, 'the health of this machine changed');
    change();
  };

  const report = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      changed = new AbortController(); // before the look: what changes meanwhile is told next
      const isTold = await tell(deps, found, signal);
      await pause(isTold ? reportEveryMs : AGAIN_MS, AbortSignal.any([signal, changed.signal]));
    }
  };

  return {
    begin,
    imagesChanged: change,
    run: async (signal) => {
      const known = await Promise.race([begun, aborted(signal)]);
      if (known === undefined) return;
      const watchDevices = devicesLoop({ deps, known, everyMs: devicesEveryMs, set }, signal);
      await Promise.all([report(signal), watchDevices, check && checkLoop(check, set, signal)]);
    },
  };
}

const aborted = (signal: AbortSignal): Promise<undefined> =>
  new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    if (signal.aborted) resolve(undefined);
  });

type SetFound = (news: Partial<Found>) => void;

async function checkLoop(check: MachineCheck, set: SetFound, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted) {
    const fault = await runCheck(check, signal);
    if (signal.aborted) return;
    failures = fault === undefined ? 0 : failures + 1;
    if (fault === undefined) set({ checkFault: undefined });
    else if (failures >= check.failures) set({ checkFault: fault });
    await pause(check.intervalSeconds * 1000, signal);
  }
}

interface DeviceWatch {
  readonly deps: NodeHealthDeps;
  readonly known: readonly FoundDevice[];
  readonly everyMs: number;
  readonly set: SetFound;
}

async function devicesLoop({ deps, known, everyMs, set }: DeviceWatch, signal: AbortSignal): Promise<void> {
  let failures = 0;
  while (!signal.aborted && known.length > 0) {
    try {
      set({ deviceFaults: await deps.devices.faults(known), driverFault: undefined });
      failures = 0;
    } catch (error) {
      failures += 1;
      if (!(error instanceof DeviceFailure)) deps.log.error({ err: error }, 'the devices could not be checked');
      if (failures >= DRIVER_FAILURES_MAX) set({ driverFault: messageOf(error) });
    }
    await pause(everyMs, signal);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : 'the devices cannot be read');

/** False: the API did not take it. */
async function tell({ api, containers, log }: NodeHealthDeps, found: Found, signal: AbortSignal): Promise<boolean> {
  try {
    await api.reportHealth(reportOf(found, await containers.images()), signal);
    return true;
  } catch (error) {
    if (!signal.aborted) log.warn({ err: error }, 'the health of this machine could not be told; again');
    return false;
  }
}

function reportOf(
  { checkFault, driverFault, deviceFaults }: Readonly<Found>,
  images: readonly string[],
): NodeHealthReport {
  const reason = [checkFault, driverFault].filter((fault) => fault !== undefined).join('; ');
  return {
    healthy: reason === '',
    reason: reason.slice(0, REASON_CHARACTERS_MAX),
    unhealthyDevices: deviceFaults.map((fault) => ({ ...fault, reason: fault.reason.slice(0, REASON_CHARACTERS_MAX) })),
    images: images.slice(0, IMAGES_MAX),
  };
}
