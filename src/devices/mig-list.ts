export interface MigInstance {
  readonly uuid: string;
  readonly gpuUuid: string;
  /** `3g.20gb`: compute slices and nominal memory; media or shared-compute suffixes stay. */
  readonly profile: string;
  /** Place among the instances of its GPU. */
  readonly place: number;
}

const GPU_LINE = /^GPU (\d+): .* \(UUID: (GPU-[^)]+)\)/;
const MIG_LINE = /^\s+MIG (\S+)\s+Device\s+(\d+): \(UUID: (MIG-[^)]+)\)/;

/** The instances in the answer of `nvidia-smi -L`, in its order: each stands under its GPU. */
export function parseMigInstances(list: string): readonly MigInstance[] {
  const instances: MigInstance[] = [];
  let gpuUuid: string | undefined;
  for (const line of list.split('\n')) {
    gpuUuid = GPU_LINE.exec(line)?.[2] ?? gpuUuid;
    const [, profile, place, uuid] = MIG_LINE.exec(line) ?? [];
    if (gpuUuid === undefined || profile === undefined || uuid === undefined) continue;
    instances.push({ uuid, gpuUuid, profile, place: Number(place) });
  }
  return instances;
}
