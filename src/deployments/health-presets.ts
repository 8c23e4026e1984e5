import type { HealthRules } from './replica-health.js';

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

const INITIAL_DELAY_SECONDS_DEFAULT = 60;
const FAILURES_DEFAULT = 10;

/** What a deployment asked for, over its engine's preset; null: no engine, `hasCheck` says whether there is a check at all. */
export function healthRulesOf(
  preset: keyof typeof HEALTH_PRESETS | null,
  asked: { readonly initialDelaySeconds?: number; readonly failures?: number; readonly hasCheck: boolean },
): HealthRules {
  const delay = preset === null ? INITIAL_DELAY_SECONDS_DEFAULT : HEALTH_PRESETS[preset].initialDelaySeconds;
  return {
    initialDelayMs: (asked.initialDelaySeconds ?? delay) * 1000,
    failures: asked.failures ?? FAILURES_DEFAULT,
    hasCheck: preset !== null || asked.hasCheck,
  };
}
