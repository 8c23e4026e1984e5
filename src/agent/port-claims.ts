import { mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claimFile } from './lock-file.js';

/**
 * Which ports the agents of one machine have taken for containers that do not listen yet: trying to bind tells nothing of
 * those. What an agent that is gone had claimed is free again, and then only binding tells.
 */
export interface PortClaims {
  /** False: another agent has it. */
  readonly claim: (port: number) => boolean;
  /** What is not claimed here is success. */
  readonly free: (port: number) => void;
  /** The agent ends: what its containers listen on is seen by binding. */
  readonly freeAll: () => void;
}

export function createPortClaims(dir: string = join(tmpdir(), 'berth-ports')): PortClaims {
  const claimed = new Map<number, () => void>();
  return {
    claim: (port) => {
      if (claimed.has(port)) return true;
      try {
        mkdirSync(dir, { recursive: true, mode: 0o777 });
        const claim = claimFile(join(dir, String(port)));
        if ('holder' in claim) return false;
        claimed.set(port, claim.free);
        return true;
      } catch {
        return true; // a folder of somebody else's: left to the attempt to bind
      }
    },
    free: (port) => {
      claimed.get(port)?.();
      claimed.delete(port);
    },
    freeAll: () => {
      for (const free of claimed.values()) free();
      claimed.clear();
    },
  };
}
