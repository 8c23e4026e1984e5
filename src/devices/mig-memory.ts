const BYTES_PER_MIB = 1024 * 1024;

/**
 * Memory of each MIG instance, by `<uuid of the GPU> <place>`, from `nvidia-smi -q -x`. The number in a profile's name
 * cannot be used: `1g.5gb` holds 4864 MiB, `1g.18gb` about 16 GiB.
 */
export function parseMigMemory(xml: string): ReadonlyMap<string, number> {
  const memoryBytes = new Map<string, number>();
  for (const [, gpu = ''] of xml.matchAll(/<gpu id="[^"]*">([\s\S]*?)<\/gpu>/g)) {
    const uuid = /<uuid>(GPU-[^<]+)<\/uuid>/.exec(gpu)?.[1];
    for (const [, instance = ''] of gpu.matchAll(/<mig_device>([\s\S]*?)<\/mig_device>/g)) {
      const place = /<index>(\d+)<\/index>/.exec(instance)?.[1];
      const mib = /<fb_memory_usage>\s*<total>(\d+) MiB<\/total>/.exec(instance)?.[1];
      if (place !== undefined && mib !== undefined) memoryBytes.set(`${uuid} ${place}`, Number(mib) * BYTES_PER_MIB);
    }
  }
  return memoryBytes;
}
