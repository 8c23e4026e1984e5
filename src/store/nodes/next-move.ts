import { type Sql, sql } from '../sql.js';

/** Of `nodes n`: its next move, which is the earliest to another group than the one that it is in. */
export const nextMove = (columns: Sql): Sql => sql`
  SELECT ${columns} FROM node_moves m WHERE m.node = n.name AND m.to_group <> n.group_name ORDER BY m.at, m.id LIMIT 1`;
