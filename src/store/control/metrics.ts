import type { Database } from '../database.js';
import { sql } from '../sql.js';
import type { ControlStore } from '../store.js';

type Metric = Awaited<ReturnType<ControlStore['metrics']>>[number];

/** What the ledger counts now; names without the `berth_` prefix. Only open rows are read. */
export const metrics = (db: Database): Promise<readonly Metric[]> =>
  db.rows<Metric>(sql`
    SELECT 'sessions' AS name, json_build_object('group', group_name, 'state', state) AS labels, count(*)::int AS value
      FROM sessions WHERE ended_at IS NULL GROUP BY group_name, state
    UNION ALL SELECT * FROM (SELECT 'sessions_waiting', json_build_object('group', group_name, 'reason', coalesce(reason, 'awaiting_pass')), count(*)::int
      FROM sessions WHERE state = 'PENDING' GROUP BY group_name, reason) w
    UNION ALL SELECT * FROM (SELECT 'queue_oldest_seconds', json_build_object('group', group_name), extract(epoch FROM now() - min(submitted_at))::float8
      FROM sessions WHERE state = 'PENDING' GROUP BY group_name) o
    UNION ALL SELECT * FROM (SELECT 'nodes', json_build_object('group', group_name, 'state', state), count(*)::int
      FROM nodes WHERE removed_at IS NULL GROUP BY group_name, state) n
    UNION ALL SELECT * FROM (SELECT 'gpus_unhealthy', json_build_object('group', n.group_name), count(*)::int
      FROM devices d JOIN nodes n ON n.name = d.node WHERE n.removed_at IS NULL AND NOT d.healthy GROUP BY n.group_name) b
    UNION ALL SELECT * FROM (SELECT 'sessions_preempting', json_build_object('group', group_name, 'cause', preempt_cause), count(*)::int
      FROM sessions WHERE state = 'PREEMPTING' GROUP BY group_name, preempt_cause) p
    UNION ALL SELECT * FROM (SELECT 'sessions_backing_off', json_build_object('group', group_name), count(*)::int
      FROM sessions WHERE state = 'PENDING' AND retry_at > now() GROUP BY group_name) t
    UNION ALL SELECT * FROM (SELECT 'rooms_kept', json_build_object('group', group_name), count(*)::int FROM room_holds GROUP BY group_name) k
    UNION ALL SELECT * FROM (SELECT 'gpus', json_build_object('group', n.group_name), count(*)::int
      FROM devices d JOIN nodes n ON n.name = d.node WHERE n.removed_at IS NULL GROUP BY n.group_name) g
    UNION ALL SELECT * FROM (SELECT 'gpus_held', json_build_object('group', n.group_name), count(*)::int
      FROM device_holds h JOIN nodes n ON n.name = h.node WHERE h.released_at IS NULL AND h.memory_bytes IS NULL GROUP BY n.group_name) h
    UNION ALL SELECT * FROM (SELECT 'gpu_shares_held_bytes', json_build_object('group', n.group_name), sum(h.memory_bytes)::float8
      FROM device_holds h JOIN nodes n ON n.name = h.node WHERE h.released_at IS NULL AND h.memory_bytes IS NOT NULL GROUP BY n.group_name) hs
    UNION ALL SELECT * FROM (SELECT 'cpu_millis_promised', json_build_object('group', n.group_name), sum(u.cpu_milli_used)::float8
      FROM node_use u JOIN nodes n ON n.name = u.node WHERE n.removed_at IS NULL GROUP BY n.group_name) c
    UNION ALL SELECT * FROM (SELECT 'generation', json_build_object('group', name), generation::float8 FROM resource_groups) r
    UNION ALL SELECT * FROM (SELECT 'submissions_open', json_build_object(), count(*)::int FROM submissions WHERE answered_at IS NULL) s
    UNION ALL SELECT * FROM (SELECT 'node_releases_owed', json_build_object(), count(*)::int
      FROM reservations WHERE released_at IS NOT NULL AND NOT node_released) x`);
