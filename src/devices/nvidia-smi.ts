import { DeviceFailure, type DeviceProvider, type FoundDevice } from './device-provider.js';
import { GPU_QUERY, type Gpu, parseGpus } from './gpu-query.js';
import { type MigInstance, parseMigInstances } from './mig-list.js';
import { parseMigMemory } from './mig-memory.js';
import { type Run, runProgram } from './run-program.js';

const PROGRAM = 'nvidia-smi';

/**
 * The node's NVIDIA GPUs. A GPU in MIG mode is not handed out itself: its instances stand in its place. Without the
 * program, or with it and no GPU, there are none; a driver that does not answer is a `DeviceFailure`.
 */
export function createNvidiaProvider(run: Run = runProgram): DeviceProvider {
  return {
    discover: async () => {
      const csv = await ask(run, [`--query-gpu=${GPU_QUERY.join(',')}`, '--format=csv,noheader,nounits']);
      const gpus = csv === undefined ? [] : parseGpus(csv);
      if (!gpus.some((gpu) => gpu.migEnabled)) return numbered(gpus.map(wholeGpu));
      const instances = parseMigInstances((await ask(run, ['-L'])) ?? '');
      const memory = parseMigMemory((await ask(run, ['-q', '-x'])) ?? '');
      return numbered(gpus.flatMap((gpu) => (gpu.migEnabled ? instancesOf(gpu, instances, memory) : [wholeGpu(gpu)])));
    },
  };
}

/** Undefined: this machine has no NVIDIA GPU. */
async function ask(run: Run, args: readonly string[]): Promise<string | undefined> {
  const answer = await run(PROGRAM, args);
  if (answer === 'no-such-program') return undefined;
  if (/no devices were found/i.test(`${answer.stdout}${answer.stderr}`)) return undefined;
  // A lost GPU makes it exit with 15 although the rows of the others are complete.
  if (answer.exitCode !== 0 && !/^\s*\d+, /m.test(answer.stdout)) {
    throw new DeviceFailure(`${PROGRAM} failed (${answer.exitCode}): ${firstLine(answer.stdout || answer.stderr)}`);
  }
  return answer.stdout;
}

type Unnumbered = Omit<FoundDevice, 'index'>;

const numbered = (devices: readonly Unnumbered[]): readonly FoundDevice[] =>
  devices.map((device, index) => ({ ...device, index }));

function wholeGpu({ uuid, model, memoryBytes, fault, index }: Gpu): Unnumbered {
  const id = uuid.startsWith('GPU-') ? uuid : `gpu-${index}`;
  return { id, uuid, model, memoryBytes, simulated: false, ...health(fault) };
}

function instancesOf(
  gpu: Gpu,
  instances: readonly MigInstance[],
  memory: ReadonlyMap<string, number>,
): readonly Unnumbered[] {
  return instances
    .filter((instance) => instance.gpuUuid === gpu.uuid)
    .map(({ uuid, profile, place }) => {
      const memoryBytes = memory.get(`${gpu.uuid} ${place}`) ?? 0;
      const fault = gpu.fault ?? (memoryBytes === 0 ? 'memory not known' : undefined);
      const model = `${gpu.model} MIG ${profile}`;
      return { id: uuid, uuid, model, memoryBytes, simulated: false, migParent: gpu.uuid, ...health(fault) };
    });
}

const health = (fault: string | undefined): Pick<FoundDevice, 'healthy' | 'fault'> =>
  fault === undefined ? { healthy: true } : { healthy: false, fault };

const firstLine = (text: string): string => (text.trim().split('\n')[0] ?? '').slice(0, 200);
