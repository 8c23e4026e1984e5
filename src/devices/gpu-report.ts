const BYTES_PER_MIB = 1024 * 1024;
const ANSWERS_WITH_ERRORS = /ERR!|Unknown Error|GPU is lost/i;

/** What `nvidia-smi -q -x` says of one GPU beyond its row. */
export interface GpuReport {
  /** `00000000:41:00.0`: how the kernel's log names it. */
  readonly busId: string;
  readonly uuid: string;
  /** Why it must not be given out; undefined: nothing was found. */
  readonly fault: string | undefined;
  /**
   * Memory of each MIG instance by its place. The number in a profile's name cannot be used: `1g.5gb` holds 4864 MiB,
   * `1g.18gb` about 16 GiB.
   */
  readonly instanceMemoryBytes: ReadonlyMap<number, number>;
}

export interface MachineReport {
  /** `550.90.07`; undefined when it is not said. */
  readonly driverVersion: string | undefined;
  readonly gpus: readonly GpuReport[];
}

/** Fields that a driver does not know or a GPU does not have (N/A) count as nothing wrong. */
export function parseReport(xml: string): MachineReport {
  const gpus = [...xml.matchAll(/<gpu id="([^"]*)">([\s\S]*?)<\/gpu>/g)].map(([, busId = '', body = '']) => ({
    busId,
    uuid: field(body, 'uuid') ?? '',
    fault: faultOf(body.replace(/<mig_devices>[\s\S]*?<\/mig_devices>/g, '')),
    instanceMemoryBytes: instanceMemory(body),
  }));
  return { driverVersion: field(xml, 'driver_version'), gpus };
}

const field = (xml: string, name: string): string | undefined =>
  new RegExp(`<${name}>\\s*([^<]*?)\\s*</${name}>`).exec(xml)?.[1];

const section = (xml: string, name: string): string =>
  new RegExp(`<${name}>([\\s\\S]*?)</${name}>`).exec(xml)?.[1] ?? '';

function instanceMemory(gpu: string): ReadonlyMap<number, number> {
  const memoryBytes = new Map<number, number>();
  for (const [, instance = ''] of gpu.matchAll(/<mig_device>([\s\S]*?)<\/mig_device>/g)) {
    const place = field(instance, 'index');
    const mib = /^(\d+) MiB$/.exec(field(section(instance, 'fb_memory_usage'), 'total') ?? '')?.[1];
    if (place !== undefined && mib !== undefined) memoryBytes.set(Number(place), Number(mib) * BYTES_PER_MIB);
  }
  return memoryBytes;
}

/** The worst first: what needs another GPU, then what needs a reset, then what is under way. */
function faultOf(gpu: string): string | undefined {
  return (
    (ANSWERS_WITH_ERRORS.test(gpu) ? 'it answers with errors' : undefined) ??
    (field(gpu, 'remapped_row_failure') === 'Yes' ? 'a row of its memory could not be remapped' : undefined) ??
    uncorrectableErrors(section(section(gpu, 'ecc_errors'), 'volatile')) ??
    (field(gpu, 'remapped_row_pending') === 'Yes'
      ? 'a row of its memory waits to be remapped by a reset'
      : undefined) ??
    (isPending(gpu) ? 'a page of its memory waits to be retired by a reset' : undefined) ??
    recovery(gpu) ??
    changingMigMode(section(gpu, 'mig_mode'))
  );
}

/** Counted since the driver was loaded or the GPU was reset. */
function uncorrectableErrors(volatile: string): string | undefined {
  const counts = [...volatile.matchAll(/<(\w*uncorrectable\w*|double_bit_total)>(\d+)<\//g)];
  const sum = counts.reduce((total, [, , count]) => total + Number(count), 0);
  return sum === 0 ? undefined : `${sum} uncorrectable memory errors (ECC) since its last reset`;
}

const isPending = (gpu: string): boolean =>
  field(gpu, 'pending_blacklist') === 'Yes' || field(gpu, 'pending_retirement') === 'Yes';

function recovery(gpu: string): string | undefined {
  if (field(gpu, 'reset_required') === 'Yes') return 'the driver asks for a reset';
  const action = field(gpu, 'gpu_recovery_action');
  const isNeeded = action !== undefined && !['None', 'N/A', ''].includes(action);
  return isNeeded ? `the driver asks for recovery: ${action}` : undefined;
}

/** Its instances, or its whole, will be gone with the reset that somebody is about to make. */
function changingMigMode(migMode: string): string | undefined {
  const [current, pending] = [field(migMode, 'current_mig'), field(migMode, 'pending_mig')];
  if (current === undefined || pending === undefined || current === pending || pending === 'N/A') return undefined;
  return `MIG mode is ${current}, and ${pending} after its next reset`;
}
