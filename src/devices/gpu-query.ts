/** The columns of `nvidia-smi --query-gpu`, in the order in which `parseGpus` reads them. */
export const GPU_QUERY = ['index', 'uuid', 'name', 'memory.total', 'mig.mode.current'] as const;
const COLUMN_FAULTY = /err!|unknown error|gpu is lost|gpu requires reset/i;
const BYTES_PER_MIB = 1024 * 1024;

export interface Gpu {
  readonly index: number;
  readonly uuid: string;
  readonly model: string;
  readonly memoryBytes: number;
  readonly migEnabled: boolean;
  /** Undefined: it answered every question. */
  readonly fault: string | undefined;
}

/** Rows of `--format=csv,noheader,nounits`, memory in MiB. Lines that are no row (warnings) are passed over. */
export function parseGpus(csv: string): readonly Gpu[] {
  return csv
    .split('\n')
    .map((line) => line.split(',').map((column) => column.trim()))
    .flatMap((columns) => parseRow(columns) ?? [])
    .sort((a, b) => a.index - b.index);
}

/** `[N/A]` of mig.mode.current means a GPU that has no MIG; of memory.total, one that shares the host's memory. */
function parseRow([index, uuid, model, memoryMib, migMode]: readonly string[]): Gpu | undefined {
  if (index === undefined || !/^\d+$/.test(index) || uuid === undefined || model === undefined) return undefined;
  const memory = /^\d+$/.test(memoryMib ?? '') ? Number(memoryMib) * BYTES_PER_MIB : 0;
  return {
    index: Number(index),
    uuid,
    model,
    memoryBytes: memory,
    migEnabled: migMode === 'Enabled',
    fault: faultOf([uuid, model, memoryMib ?? '', migMode ?? ''], memory),
  };
}

function faultOf(columns: readonly string[], memoryBytes: number): string | undefined {
  const faulty = columns.find((column) => COLUMN_FAULTY.test(column));
  if (faulty !== undefined) return faulty.replace(/[[\]]/g, '');
  if (!columns[0]?.startsWith('GPU-')) return 'no UUID';
  return memoryBytes === 0 ? 'memory not known' : undefined;
}
