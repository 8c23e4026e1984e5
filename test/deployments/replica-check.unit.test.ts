import { describe, expect, test } from 'vitest';
import { deploymentTemplateSchema } from '../../src/contract/index.js';
import { replicaCheckOf, replicaMetricsOf } from '../../src/deployments/replica-check.js';

const template = (fields: object) =>
  deploymentTemplateSchema.parse({
    image: 'berth/busybox:test',
    slots: { cpuMilli: 100, memoryBytes: 2 ** 30 },
    ...fields,
  });

describe('the check of a replica', () => {
  test.each([
    ['vllm', 8000, '/health', '/metrics'],
    ['sglang', 9001, '/health', '/metrics'],
    ['tgi', 3000, '/info', '/metrics'],
    ['nim', 8000, '/v1/health/ready', '/v1/metrics'],
  ])('%s is asked on %d%s, for 1800 s at first, and shows its figures under %s', (preset, port, path, figures) => {
    const asked = template({ preset });
    expect(replicaCheckOf(asked)).toEqual({
      ...{ path, port, intervalSeconds: 5, timeoutSeconds: 5, failures: 10 },
      ...{ initialDelaySeconds: 1800, refusedIsUnhealthy: true },
    });
    expect(replicaMetricsOf(asked)).toEqual({ path: figures, port, everySeconds: 5 });
  });

  test('what the template says goes before the preset', () => {
    const health = {
      path: '/ready',
      port: 9000,
      intervalSeconds: 1,
      timeoutSeconds: 2,
      failures: 3,
      initialDelaySeconds: 5,
    };
    const asked = template({ preset: 'vllm', port: 8080, health, metricsPath: '/stats' });
    expect(replicaCheckOf(asked)).toEqual({ ...health, refusedIsUnhealthy: true });
    expect(replicaMetricsOf(asked)).toEqual({ path: '/stats', port: 8080, everySeconds: 5 });
  });

  test('a path alone makes a check on its own port, with 60 s at first', () => {
    const check = replicaCheckOf(template({ port: 8080, health: { path: '/ok' } }));
    expect(check).toMatchObject({ path: '/ok', port: 8080, failures: 10, initialDelaySeconds: 60 });
  });

  test('without a preset and a path there is no check and there are no figures', () => {
    expect(replicaCheckOf(template({ port: 8080 }))).toBeUndefined();
    expect(replicaMetricsOf(template({ port: 8080 }))).toBeNull();
  });
});
