import type { SnapshotNode } from '../../../src/contract/snapshot.js';
import { type NodeShape, node } from '../../scheduler/build.js';

const GPUS = 8;
const MODELS = ['H200', 'H100', 'A100', 'L40S'] as const;
const MEMORY_GIB = { H200: 141, H100: 80, A100: 80, L40S: 48 } as const;
export type Model = (typeof MODELS)[number];

/** Shape `n`: 8 GPUs of one model, an amount of CPU and memory of its own, and how its devices are shared. */
function shapeOf(n: number): NodeShape & { readonly model: Model } {
  const model = MODELS[n % MODELS.length] as Model;
  const sharing = (['none', 'mps', 'none', 'memory-limit'] as const)[n % 4] ?? 'none';
  const memoryGib = new Array<number>(GPUS).fill(MEMORY_GIB[model]);
  const more = Math.floor(n / MODELS.length);
  return { cpu: 128 + 8 * more, gib: 1024 + 64 * more, gpus: GPUS, model, sharing, memoryGib };
}

/** Nodes of 8 GPUs of `shapes` shapes in turn, in three zones; those of every second shape take shares. */
export const mixedNodes = (count: number, shapes = 4): SnapshotNode[] =>
  Array.from({ length: count }, (_, i) =>
    node(`node-${String(i).padStart(4, '0')}`, { ...shapeOf(i % shapes), zone: `zone-${i % 3}` }),
  );

export const modelsOf = (shapes: number): readonly Model[] => MODELS.slice(0, shapes);
