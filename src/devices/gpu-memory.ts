import { DeviceFailure } from './device-provider.js';
import { type Run, runProgram } from './run-program.js';

/** What one process takes of one GPU, as the driver counts it; null: it does not say. */
export interface GpuApp {
  readonly gpu: string;
  /** As the machine numbers it. */
  readonly pid: number;
  readonly bytes: number | null;
}

/** Memory of the node's own GPUs. Throws `DeviceFailure` when the driver does not answer. */
export interface GpuMemory {
  /** By UUID: total without the driver's own reserve. */
  readonly usable: () => Promise<ReadonlyMap<string, number>>;
  readonly apps: () => Promise<readonly GpuApp[]>;
}

const PROGRAM = 'nvidia-smi';
export const USABLE_QUERY = 'uuid,memory.total,memory.reserved';
export const APPS_QUERY = 'gpu_uuid,pid,used_memory';
const FORMAT = '--format=csv,noheader,nounits';
const BYTES_PER_MIB = 2 ** 20;

export function createNvidiaMemory(run: Run = runProgram): GpuMemory {
  const ask = async (query: string): Promise<string> => {
    const answer = await run(PROGRAM, [query, FORMAT]);
    if (answer === 'no-such-program') return '';
    if (answer.exitCode !== 0) throw new DeviceFailure(`${PROGRAM} failed (${answer.exitCode})`);
    return answer.stdout;
  };
  return {
    usable: async () => parseUsable(await ask(`--query-gpu=${USABLE_QUERY}`)),
    apps: async () => parseApps(await ask(`--query-compute-apps=${APPS_QUERY}`)),
  };
}

const rows = (csv: string): readonly (readonly string[])[] =>
  csv.split('\n').map((line) => line.split(',').map((column) => column.trim()));
const mib = (text: string | undefined): number | null =>
  /^\d+$/.test(text ?? '') ? Number(text) * BYTES_PER_MIB : null;

/** A GPU whose total is not told is left out; a reserve that is not told (drivers before 510) is none. */
export function parseUsable(csv: string): ReadonlyMap<string, number> {
  const usable = new Map<string, number>();
  for (const [uuid = '', total, reserved] of rows(csv)) {
    const totalBytes = mib(total);
    if (uuid.startsWith('GPU-') && totalBytes !== null) usable.set(uuid, totalBytes - (mib(reserved) ?? 0));
  }
  return usable;
}

export function parseApps(csv: string): readonly GpuApp[] {
  return rows(csv).flatMap(([gpu = '', pid, used]) =>
    /^(GPU|MIG)-/.test(gpu) && /^\d+$/.test(pid ?? '') ? [{ gpu, pid: Number(pid), bytes: mib(used) }] : [],
  );
}
