/** What one turn over a deployment leaves: what it decided stands in the ledger. Small, since it is part of a history. */
export interface DeploymentTurnReport {
  /** `ended`: it was ended, and its last replica is gone. */
  readonly outcome: 'lives' | 'ended' | 'missing';
  /** Sessions are to be submitted or stopped. */
  readonly workDue: boolean;
  /** Nothing is under way and no rule looks at it: only a kick, or the moment below, changes something. */
  readonly isAtRest: boolean;
  /** From now to the next moment at which time alone changes something. */
  readonly nextLookMs: number | null;
  readonly details: string;
}

export interface DeploymentWorkReport {
  /** Another turn is due at once: there was more than one call carries, or a submission was refused. */
  readonly more: boolean;
}

/** Control activities of deployments. They carry an id and counts, and each is safe to run twice. */
export interface DeploymentActivities {
  /** Asks Prometheus where rules do; then snapshot, decision and commit in one transaction. */
  deploymentTurn(deploymentId: string): Promise<DeploymentTurnReport>;
  /** Submits replicas that the ledger has and no session stands for, and stops those that are drained. */
  deploymentWork(deploymentId: string): Promise<DeploymentWorkReport>;
}
