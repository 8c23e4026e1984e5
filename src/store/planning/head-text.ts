import type { Runner } from '../database.js';
import { sql } from '../sql.js';
import { readQueue } from './queue.js';

const SHOWN = 5;
const COUNTED = 1000;

/** Head of the queue and counts, as Markdown. The count stops at 1,000: a longer queue costs no more and reads the same. */
export async function headText(tx: Runner, group: string): Promise<string> {
  const page = await readQueue(tx, group, { limit: SHOWN });
  if (page === null) return `There is no group ${group}.`;
  const counts = await tx.first<{ waiting: number; running: number }>(sql`
    SELECT (SELECT count(*)::int FROM (SELECT 1 FROM sessions WHERE group_name = ${group} AND state = 'PENDING' LIMIT ${COUNTED + 1}) w) AS waiting,
      (SELECT count(*)::int FROM sessions WHERE group_name = ${group} AND state = 'RUNNING') AS running`);
  const lines = page.items.map(
    (entry) =>
      `${entry.position}. **${entry.name}** (${entry.user}, priority ${entry.priority}): \`${entry.reason}\` ${entry.message}`,
  );
  const waiting = counts?.waiting ?? 0;
  const title = `${waiting > COUNTED ? `over ${COUNTED}` : waiting} waiting, ${counts?.running ?? 0} running`;
  return [title, '', ...(lines.length === 0 ? ['Nobody waits.'] : lines)].join('\n');
}
