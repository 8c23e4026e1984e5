import { appendFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { RecordedPass } from '../activities/control/dependencies.js';

const SCHEMA = 'berth.pass/1';

/**
 * Appends each pass to `<directory>/<group>.jsonl` as one line of JSON. A pass is recorded while its planner has the group, so
 * lines of a group never mix, whatever worker plans; one that died before its commit is recorded too, as planned.
 */
export async function createPassRecorder(directory: string): Promise<(pass: RecordedPass) => Promise<void>> {
  await mkdir(directory, { recursive: true });
  return ({ now, snapshot, plan }) =>
    appendFile(
      join(directory, `${snapshot.group.name}.jsonl`),
      `${JSON.stringify({ schema: SCHEMA, now, snapshot, plan })}\n`,
    );
}
