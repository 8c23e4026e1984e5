import { existsSync } from 'node:fs';
import { uptime } from 'node:os';
import { DeviceFailure, type DeviceFault, type DeviceProvider, type FoundDevice } from './device-provider.js';
import { GPU_LOAD_QUERY, parseGpuLoads } from './gpu-load.js';
import { GPU_QUERY, type Gpu, parseGpus } from './gpu-query.js';
import { type MachineReport, parseReport } from './gpu-report.js';
import { type MigInstance, parseMigInstances } from './mig-list.js';
import { type Run, runProgram } from './run-program.js';
import { type SharingRules, sharingOf } from './sharing-rules.js';
import { fatalXids, placeOf } from './xid-log.js';

const PROGRAM = 'nvidia-smi';
/** The first driver that keeps a cgroup to a limit of a GPU's memory (CUDA 13.4). */
const MEMORY_LIMIT_DRIVER = 615;

export interface NvidiaOptions {
  readonly sharing?: SharingRules;
  /** Xid errors count from then on; seconds since boot. Now, when unset: what an earlier reset mended is not held against it. */
  readonly watchedFromSeconds?: number;
  /** The machine's cgroups are of version 2, as the driver's memory limits need. */
  readonly hasCgroup2?: boolean;
}

/**
 * The node's NVIDIA GPUs. A GPU in MIG mode is not handed out itself: its instances stand in its place. Without the
 * program, or with it and no GPU, there are none; a driver that does not answer is a `DeviceFailure`.
 */
export function createNvidiaProvider(run: Run = runProgram, options: NvidiaOptions = {}): DeviceProvider {
  const { watchedFromSeconds = uptime() } = options;
  const discover = async (): Promise<readonly FoundDevice[]> => {
    const csv = await ask(run, [`--query-gpu=${GPU_QUERY.join(',')}`, '--format=csv,noheader,nounits']);
    const gpus = csv === undefined ? [] : parseGpus(csv);
    if (gpus.length === 0) return [];
    const report = parseReport((await ask(run, ['-q', '-x'])) ?? '');
    const instances = gpus.some((gpu) => gpu.migEnabled) ? parseMigInstances((await ask(run, ['-L'])) ?? '') : [];
    const xids = await xidsByPlace(run, watchedFromSeconds);
    const view = { report, instances, xids, options };
    return gpus.flatMap((gpu) => devicesOf(gpu, view)).map((device, index) => ({ ...device, index }));
  };
  return {
    discover,
    faults: async (known) => faultsOf(known, await discover()),
    loads: async () => {
      const csv = await ask(run, [`--query-gpu=${GPU_LOAD_QUERY.join(',')}`, '--format=csv,noheader,nounits']);
      return csv === undefined ? [] : parseGpuLoads(csv);
    },
  };
}

/** A device that was there and is not answered for any more is as broken as one that says so. */
function faultsOf(known: readonly FoundDevice[], now: readonly FoundDevice[]): readonly DeviceFault[] {
  const found = new Map(now.map((device) => [device.id, device]));
  return known.flatMap(({ id }) => {
    const device = found.get(id);
    if (device === undefined) return [{ id, reason: 'the driver does not know it any more' }];
    return device.healthy ? [] : [{ id, reason: device.fault ?? 'not healthy' }];
  });
}

/** Undefined: this machine has no NVIDIA GPU. */
async function ask(run: Run, args: readonly string[]): Promise<string | undefined> {
  const answer = await run(PROGRAM, args);
  if (answer === 'no-such-program') return undefined;
  if (/no devices were found/i.test(`${answer.stdout}${answer.stderr}`)) return undefined;
  // A lost GPU makes it exit with 15 although what it says of the others is complete.
  if (answer.exitCode !== 0 && !/^\s*\d+, |<gpu id=|^GPU \d+:/m.test(answer.stdout)) {
    throw new DeviceFailure(`${PROGRAM} failed (${answer.exitCode}): ${firstLine(answer.stdout || answer.stderr)}`);
  }
  return answer.stdout;
}

/** The kernel's log is not for everybody to read: without it these errors are not known, and the others still are. */
async function xidsByPlace(run: Run, fromSeconds: number): Promise<ReadonlyMap<string, string>> {
  const answer = await run('dmesg', []);
  if (answer === 'no-such-program' || answer.exitCode !== 0) return new Map();
  return new Map(fatalXids(answer.stdout, fromSeconds).map(({ place, reason }) => [place, reason]));
}

interface View {
  readonly report: MachineReport;
  readonly instances: readonly MigInstance[];
  readonly xids: ReadonlyMap<string, string>;
  readonly options: NvidiaOptions;
}

type Unnumbered = Omit<FoundDevice, 'index'>;

function devicesOf(gpu: Gpu, view: View): readonly Unnumbered[] {
  const report = view.report.gpus.find(({ uuid }) => uuid === gpu.uuid);
  const xid = report && view.xids.get(placeOf(report.busId));
  const fault = gpu.fault ?? report?.fault ?? xid;
  if (!gpu.migEnabled) return [wholeGpu(gpu, fault, view)];
  return view.instances
    .filter((instance) => instance.gpuUuid === gpu.uuid)
    .map((instance) => migInstance(gpu, instance, { fault, memory: report?.instanceMemoryBytes.get(instance.place) }));
}

function wholeGpu(
  { uuid, model, memoryBytes, index }: Gpu,
  fault: string | undefined,
  { options, report }: View,
): Unnumbered {
  const id = uuid.startsWith('GPU-') ? uuid : `gpu-${index}`;
  const wanted = sharingOf(options.sharing ?? {}, { uuid, index });
  const sharingFault = wanted === 'memory-limit' ? memoryLimitFault(report, options) : undefined;
  const sharing = sharingFault === undefined ? { sharing: wanted } : { sharing: 'none' as const, sharingFault };
  return { id, uuid, model, memoryBytes, simulated: false, ...sharing, ...health(fault) };
}

interface InstanceState {
  readonly fault: string | undefined;
  readonly memory: number | undefined;
}

function migInstance(gpu: Gpu, { uuid, profile }: MigInstance, { fault, memory }: InstanceState): Unnumbered {
  const model = `${gpu.model} MIG ${profile}`;
  const kind = { model, memoryBytes: memory ?? 0, simulated: false, sharing: 'mig' as const, migParent: gpu.uuid };
  return { id: uuid, uuid, ...kind, ...health(fault ?? (memory === undefined ? 'memory not known' : undefined)) };
}

/** What nothing would enforce is not called enforced. */
function memoryLimitFault({ driverVersion }: MachineReport, { hasCgroup2 }: NvidiaOptions): string | undefined {
  if (Number.parseInt(driverVersion ?? '0', 10) < MEMORY_LIMIT_DRIVER) {
    return `memory-limit needs driver ${MEMORY_LIMIT_DRIVER} or newer, and this is ${driverVersion ?? 'not known'}`;
  }
  const isThere = hasCgroup2 ?? existsSync('/sys/fs/cgroup/cgroup.controllers');
  return isThere ? undefined : 'memory-limit needs cgroups of version 2';
}

const health = (fault: string | undefined): Pick<FoundDevice, 'healthy' | 'fault'> =>
  fault === undefined ? { healthy: true } : { healthy: false, fault };

const firstLine = (text: string): string => (text.trim().split('\n')[0] ?? '').slice(0, 200);
