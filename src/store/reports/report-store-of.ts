import type { StoreContext } from '../context.js';
import type { ReportStore } from '../report-store.js';
import { sql } from '../sql.js';
import { readBroken } from './read-broken.js';
import { readFirstStarts } from './read-first-starts.js';
import { readMeasured, readPaidIdle } from './read-measured.js';

export const createReportStore = ({ db }: StoreContext): ReportStore => ({
  firstStarts: (period) => readFirstStarts(db, period),
  measured: (period) => readMeasured(db, period),
  paidIdle: (period, how) => readPaidIdle(db, period, how),
  broken: (period, viewer) => readBroken(db, period, viewer),
  fairShareGroups: async () => {
    const rows = await db.rows<{ name: string }>(sql`
      SELECT name FROM resource_groups WHERE coalesce(policy->>'order', 'fifo') = 'fair-share' ORDER BY name`);
    return rows.map(({ name }) => name);
  },
  projectPaths: async (ids) => {
    const rows = await db.rows<{ id: string; path: string }>(sql`
      SELECT p.id, d.name || '/' || p.name AS path FROM projects p JOIN domains d ON d.id = p.domain_id WHERE p.id = ANY(${ids}::text[])`);
    return new Map(rows.map(({ id, path }) => [id, path]));
  },
});
