/** A replica whose node vanished without a word refuses connections long before the node is LOST. */
export const refusedReplicas = `
ALTER TABLE replica_traffic ADD COLUMN refused_at timestamptz(3);
COMMENT ON COLUMN replica_traffic.refused_at IS 'its last connection was refused, as the gateway told then';
`;
