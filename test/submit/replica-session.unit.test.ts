import { describe, expect, test } from 'vitest';
import { deploymentTemplateSchema } from '../../src/contract/index.js';
import { asksForKey } from '../../src/deployments/preset-command.js';
import { replicaSession } from '../../src/submit/replica-session.js';

const template = (change: object = {}) =>
  deploymentTemplateSchema.parse({
    image: 'engine:1',
    port: 9000,
    slots: { cpuMilli: 100, memoryBytes: 2 ** 30, gpuCount: 2 },
    ...change,
  });
const deployment = { name: 'chat', project: 'default/default', group: 'gpus', modelName: null };
const sessionOf = (change: object, more: object = {}) =>
  replicaSession({ name: 'chat-r1-abcde', template: template(change) }, { ...deployment, ...more }, ['TOKEN']);
const VLLM = { preset: 'vllm', port: undefined, model: { folder: 'llama' } };

describe('the session of a replica', () => {
  test('is of kind inference, with one attempt, its port, and values of its variables left out', () => {
    const session = sessionOf({});
    expect(session).toMatchObject({
      name: 'chat-r1-abcde',
      kind: 'inference',
      project: 'default/default',
      group: 'gpus',
      preemptible: false,
      retry: { maxAttempts: 1 },
      ports: [{ name: 'http', containerPort: 9000 }],
      environment: { TOKEN: '' },
      placement: { spread: 'spread', replicaGroup: 'chat' },
      labels: { 'berth.deployment': 'chat' },
    });
    expect(session.healthCheck).toBeUndefined();
    expect(session.maxRuntimeSeconds).toBeUndefined();
  });

  test('of a preset on a model folder is that engine, on the folder, read-only, under the served name', () => {
    const session = sessionOf(VLLM, { modelName: 'llama-3' });
    expect(session.entrypoint).toEqual(['vllm', 'serve']);
    expect(session.command.join(' ')).toBe(
      '/model --served-model-name llama-3 --host 0.0.0.0 --port 8000 --tensor-parallel-size 2',
    );
    expect(session.mounts).toEqual([{ folder: 'llama', target: '/model', readOnly: true }]);
    expect(session.healthCheck).toMatchObject({ path: '/health', port: 8000, failures: 10, initialDelaySeconds: 1800 });
  });

  test.each<[string, object, boolean]>([
    ['vLLM on a model folder', VLLM, true],
    ['vLLM with a command of its own', { ...VLLM, command: ['serve'] }, false],
    ['another engine', { ...VLLM, preset: 'sglang' }, false],
    ['no engine', {}, false],
  ])('a key that the gateway alone sends: %s', (_title, change, asks) => {
    expect(asksForKey(template(change))).toBe(asks);
  });

  test('is packed or set apart as its template says', () => {
    const placement = { spread: 'pack', replicaGroup: 'all' };
    expect(sessionOf({ placement }).placement).toMatchObject(placement);
  });
});
