import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * When the control plane last heard this node: the API accepted a call, or Temporal a beat of a node that had reconciled.
 * Written to disk, so that an agent that was restarted while it was cut off does not begin to count anew.
 */
export interface Contact {
  readonly made: () => void;
  readonly silentMs: () => number;
  /** Ends once what was written last is on disk. */
  readonly close: () => Promise<void>;
}

const FILE = 'contact';
/** Written no oftener: what is lost of it makes the silence look longer, never shorter. */
const WRITE_MS_MIN = 2_000;

/** A node that was never in contact has nothing to stop: its silence begins now. */
export async function openContact(stateDir: string): Promise<Contact> {
  const file = join(stateDir, FILE);
  await mkdir(stateDir, { recursive: true });
  const before = Number(await readFile(file, 'utf8').catch(() => ''));
  // a clock that was set back must not make the silence negative
  const silentBeforeMs = before > 0 ? Math.max(0, Date.now() - before) : 0;
  let at = performance.now() - silentBeforeMs;
  let written = Number.NEGATIVE_INFINITY;
  let writing = Promise.resolve();
  return {
    silentMs: () => performance.now() - at,
    close: () => writing,
    made: () => {
      at = performance.now();
      if (at - written < WRITE_MS_MIN) return;
      written = at;
      const text = String(Date.now());
      writing = writing.then(() => writeFile(file, text)).catch(() => undefined); // a full disk: the silence looks longer
    },
  };
}
