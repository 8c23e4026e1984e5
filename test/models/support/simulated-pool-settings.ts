export interface SimulatedPoolSettings {
  readonly seed: number;
  readonly gpus: number;
  readonly gpusPerMember: number;
  readonly usable: number;
  readonly releases: boolean;
  readonly sleepAfterSeconds: number | null;
  /** Of everything that can be lost, lie, crash or be killed: how often it is, 0–1. */
  readonly trouble: number;
}
