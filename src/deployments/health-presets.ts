/** Where each engine answers that it can serve, and how long its warm-up may take. */
export interface HealthPreset {
  readonly port: number;
  readonly path: string;
  readonly initialDelaySeconds: number;
}

const WARM_UP_SECONDS = 1800;

export const HEALTH_PRESETS = {
  vllm: { port: 8000, path: '/health', initialDelaySeconds: WARM_UP_SECONDS },
  sglang: { port: 9001, path: '/health', initialDelaySeconds: WARM_UP_SECONDS },
  tgi: { port: 3000, path: '/info', initialDelaySeconds: WARM_UP_SECONDS },
  nim: { port: 8000, path: '/v1/health/ready', initialDelaySeconds: WARM_UP_SECONDS },
} as const satisfies Record<string, HealthPreset>;

export const INITIAL_DELAY_SECONDS_DEFAULT = 60;
export const FAILURES_DEFAULT = 10;
