import { appendFile, mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { PARTS_DIRECTORY } from './parts.js';

export interface UsedTokens {
  /** False when the token is used up, or in use. Else it is taken, until `giveBack` or its expiry. */
  take(jti: string, expiresAtSeconds: number): boolean;
  /** The operation failed and changed nothing: the same token may try again. */
  giveBack(jti: string): void;
  /** Kept on the disk: it stays used up when the proxy is killed. Call it before what the token allows takes effect. */
  keep(jti: string, expiresAtSeconds: number): Promise<void>;
}

const SWEEP_EACH = 1_000;
const FILE = 'used-tokens';

async function readKept(file: string, nowSeconds: number): Promise<Map<string, number>> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').map((line) => line.split(' '));
  const entries = lines.flatMap(([jti, expires]) => (jti && expires ? [[jti, Number(expires)] as const] : []));
  return new Map(entries.filter(([, expires]) => expires >= nowSeconds));
}

/** Readers of another start see the old list or the new one. */
async function writeKept(file: string, used: ReadonlyMap<string, number>): Promise<void> {
  const partial = `${file}.new`;
  const handle = await open(partial, 'w', 0o600);
  await handle
    .writeFile([...used].map(([jti, expires]) => `${encodeURIComponent(jti)} ${expires}\n`).join(''))
    .finally(() => handle.close());
  await rename(partial, file);
}

/**
 * Ids of tokens that are good for one use, until they expire by themselves: on the volume that they are for, so that a proxy
 * that was killed knows them again. One proxy serves a volume.
 */
export async function openUsedTokens(volumePath: string, nowSeconds: () => number): Promise<UsedTokens> {
  const directory = join(volumePath, PARTS_DIRECTORY);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const file = join(directory, FILE);
  const used = new Map([...(await readKept(file, nowSeconds()))].map(([jti, at]) => [decodeURIComponent(jti), at]));
  await writeKept(file, used);
  let sinceSweep = 0;
  const sweep = () => {
    sinceSweep += 1;
    if (sinceSweep < SWEEP_EACH) return;
    sinceSweep = 0;
    for (const [jti, expiresAt] of used) if (expiresAt < nowSeconds()) used.delete(jti);
  };
  return {
    take(jti, expiresAtSeconds) {
      sweep();
      if (used.has(jti)) return false;
      used.set(jti, expiresAtSeconds);
      return true;
    },
    giveBack: (jti) => void used.delete(jti),
    keep: (jti, expiresAtSeconds) => appendFile(file, `${encodeURIComponent(jti)} ${expiresAtSeconds}\n`),
  };
}
