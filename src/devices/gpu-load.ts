import type { DeviceLoad } from './device-provider.js';

/** The columns of `nvidia-smi --query-gpu`, in the order in which `parseGpuLoads` reads them. */
export const GPU_LOAD_QUERY = ['index', 'uuid', 'utilization.gpu', 'memory.used', 'mig.mode.current'] as const;
const BYTES_PER_MIB = 1024 * 1024;

const amount = (text: string | undefined): number | null => (/^\d+$/.test(text ?? '') ? Number(text) : null);

/**
 * Rows of `--format=csv,noheader,nounits`: percent, and MiB. `[N/A]` and errors are not known. Of a GPU in MIG mode nothing
 * is told: its instances are what the node hands out, and the driver does not tell their load.
 */
export function parseGpuLoads(csv: string): readonly DeviceLoad[] {
  return csv
    .split('\n')
    .map((line) => line.split(',').map((column) => column.trim()))
    .flatMap(([index, uuid, busy, used, mig]) => {
      if (index === undefined || !/^\d+$/.test(index) || uuid === undefined || mig === 'Enabled') return [];
      const mib = amount(used);
      const id = uuid.startsWith('GPU-') ? uuid : `gpu-${index}`;
      return [{ id, busyPercent: amount(busy), memoryBytes: mib === null ? null : mib * BYTES_PER_MIB }];
    });
}
