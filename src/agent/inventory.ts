import { createHash } from 'node:crypto';
import type { Containers } from '../docker/containers.js';
import { type FoundKernel, type KernelContainer, LABEL, readKernel } from './kernel-container.js';

/** This node's kernels as the engine has them, ended ones too, by container name. */
export async function listKernels(
  containers: Pick<Containers, 'list'>,
  node: string,
): Promise<readonly KernelContainer[]> {
  const found = await containers.list({ [LABEL.node]: node });
  return found.flatMap((container) => readKernel(container) ?? []);
}

export const foundKernels = (kernels: readonly KernelContainer[]): FoundKernel[] =>
  kernels.map(({ kernelId, sessionId, attempt, epoch, state }) => ({ kernelId, sessionId, attempt, epoch, state }));

/** Equal for equal inventories, in whatever order they are listed. */
export function inventoryHash(kernels: readonly FoundKernel[]): string {
  const lines = kernels.map((kernel) => `${kernel.kernelId} ${kernel.attempt} ${kernel.epoch} ${kernel.state}`);
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex');
}
