import type { DeploymentTemplate, HealthCheck, LaunchOrder } from '../contract/index.js';
import { HEALTH_PRESETS, healthRulesOf } from './health-presets.js';
import { portOf } from './preset-command.js';

type Checked = Pick<DeploymentTemplate, 'preset' | 'port' | 'health'>;
type Measured = Pick<DeploymentTemplate, 'preset' | 'port' | 'metricsPath'>;

/**
 * How a replica is asked whether it can serve: what its template says, else its preset. Undefined: there is no check, and it
 * is healthy as soon as it runs. A refused connection needs no second try, since nobody listens there any more.
 */
export function replicaCheckOf({ preset, port, health }: Checked): HealthCheck | undefined {
  const path = health.path ?? (preset === undefined ? undefined : HEALTH_PRESETS[preset].path);
  if (path === undefined) return undefined;
  const { initialDelaySeconds, failures } = health;
  const asked = { failures, hasCheck: true, ...(initialDelaySeconds === undefined ? {} : { initialDelaySeconds }) };
  const rules = healthRulesOf(preset ?? null, asked);
  return {
    path,
    port: health.port ?? portOf({ preset, port }),
    intervalSeconds: health.intervalSeconds,
    timeoutSeconds: health.timeoutSeconds,
    failures: rules.failures,
    initialDelaySeconds: rules.initialDelayMs / 1000,
    refusedIsUnhealthy: true,
  };
}

const METRICS_PATHS = { vllm: '/metrics', sglang: '/metrics', tgi: '/metrics', nim: '/v1/metrics' } as const;
const METRICS_EVERY_SECONDS = 5;

/** Where its agent reads its figures; null: it shows none. */
export function replicaMetricsOf({ preset, port, metricsPath }: Measured): LaunchOrder['metrics'] {
  const path = metricsPath ?? (preset === undefined ? null : METRICS_PATHS[preset]);
  return path === null ? null : { path, port: portOf({ preset, port }), everySeconds: METRICS_EVERY_SECONDS };
}
