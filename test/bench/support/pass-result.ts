import { run } from '../scheduler-pass.js';
import { atMost, info, type Result } from './report.js';

/** The pure pass in the common shape: the target is a number, the floor stands beside it. */
export async function passResult(): Promise<Result> {
  const { name, rows } = await run();
  return {
    name,
    rows: rows.flatMap((row) => [
      atMost({ name: row.case, measured: row.measuredMs, floor: row.floorMs, unit: 'ms' }, row.targetMs),
      ...(row.referenceMs === null
        ? []
        : [info({ name: `${row.case}: the obvious implementation`, measured: row.referenceMs, unit: 'ms' })]),
    ]),
    notes: ['CPU time of one thread; the floor reads each node, device and session once'],
  };
}
