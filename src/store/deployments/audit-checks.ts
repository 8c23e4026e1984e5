import { sql } from '../sql.js';

/** A turn closes the row of a session that ended within seconds. */
export const DEPLOYMENT_CHECKS = sql`
      (SELECT count(*) FROM deployment_replicas r JOIN sessions s ON s.id = r.session_id
        WHERE r.closed_at IS NULL AND s.ended_at < now() - interval '1 minute')::int AS "replicasOfEndedSessions",
      (SELECT count(*) FROM deployment_replicas r JOIN sessions s ON s.id = r.session_id
        WHERE s.ended_at IS NULL AND r.closed_at IS NOT NULL)::int AS "replicasThatOutliveTheirRow",
      (SELECT count(*) FROM deployment_replicas r JOIN deployments d ON d.id = r.deployment_id
        WHERE r.closed_at IS NULL AND d.ended_at IS NOT NULL)::int AS "replicasOfEndedDeployments",
      (SELECT count(*) FROM (SELECT model_name FROM deployments WHERE ended_at IS NULL AND model_name IS NOT NULL
        UNION ALL SELECT model_name FROM model_claims WHERE ended_at IS NULL) n
        WHERE EXISTS (SELECT 1 FROM deployments d WHERE d.model_name = n.model_name AND d.ended_at IS NULL)
          AND EXISTS (SELECT 1 FROM model_claims c WHERE c.model_name = n.model_name AND c.ended_at IS NULL))::int AS "modelNamesTwice",
      (SELECT count(*) FROM deployment_tokens WHERE octet_length(hash) <> 32)::int AS "tokensNotHashed"`;
