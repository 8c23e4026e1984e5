import { mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedPass } from '../activities/control/dependencies.js';

const SCHEMA = 'berth.pass/1';

/**
 * Appends each pass to `<directory>/<group>.jsonl` as one line of JSON. A pass is recorded while its planner has the group, so
 * lines of a group never mix, whatever worker plans; one that died before its commit is recorded too, as planned. A line starts
 * anew: what a killed worker left of its own stays alone.
 */
export async function createPassRecorder(directory: string): Promise<(pass: RecordedPass) => Promise<void>> {
  await mkdir(directory, { recursive: true });
  return async ({ now, snapshot, plan }) => {
    const file = await open(join(directory, `${snapshot.group.name}.jsonl`), 'a+');
    try {
      const { size } = await file.stat();
      const last =
        size === 0
          ? '\n'
          : (await file.read({ position: size - 1, length: 1, buffer: Buffer.alloc(1) })).buffer.toString();
      const start = last === '\n' ? '' : '\n';
      await file.appendFile(`${start}${JSON.stringify({ schema: SCHEMA, now, snapshot, plan })}\n`);
    } finally {
      await file.close();
    }
  };
}
