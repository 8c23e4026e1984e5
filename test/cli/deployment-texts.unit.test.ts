import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { deploymentOfFile } from '../../src/cli/deployment-file.js';
import { changesText, rolloutText } from '../../src/cli/deployment-text.js';
import { readYamlFile } from '../../src/cli/read-yaml-file.js';
import { mustServe } from '../../src/cli/until-deployment-serves.js';
import { applyDeploymentSchema, type Deployment } from '../../src/contract/index.js';

const EXAMPLES = 'docs/examples/deployments';

test.each(readdirSync(EXAMPLES))('the example %s is a request that the API takes', async (file) => {
  const { name, wish } = deploymentOfFile(await readYamlFile(`${EXAMPLES}/${file}`), undefined, undefined);
  expect(`${name}.yaml`).toBe(file);
  expect(applyDeploymentSchema.safeParse(wish).error).toBeUndefined();
});

test('amounts are read as people write them; a name on the command line wins', () => {
  const file = { name: 'a', template: { image: 'i', slots: { cpu: 2, memory: '1Gi', gpus: 1 } } };
  expect(deploymentOfFile(file, 'b', 'vision')).toMatchObject({
    name: 'b',
    wish: { project: 'vision', template: { slots: { cpuMilli: 2000, memoryBytes: 2 ** 30, gpuCount: 1 } } },
  });
  expect(() => deploymentOfFile({ template: {} }, undefined, undefined)).toThrow('the deployment has no name');
  expect(() => deploymentOfFile({ name: 'a' }, undefined, undefined)).toThrow('the file has no template');
});

const rollout = {
  ...{ from: 1, target: 2, step: 0, steps: 2, percent: 10, paused: false, waitsForPromotion: false },
  ...{
    startedAt: '2026-12-01T00:00:00Z',
    progressAt: '2026-12-01T00:00:00Z',
    rollsBackAt: null,
    message: '1 of 3 serve',
  },
};
const deployment = { name: 'chat', state: 'READY', message: '', replicasWanted: 2, currentRevision: 1, rollout: null };
const chat = (more: object = {}): Deployment => ({ ...deployment, ...more }) as unknown as Deployment;

test('a rollout tells the way, its step and its part of the requests', () => {
  expect(rolloutText(rollout, new Date())).toBe('revision 1 → 2, step 1 of 2, 10% of the requests: 1 of 3 serve');
});

const changes: [title: string, now: Deployment | null, then: Deployment, text: string][] = [
  ['nothing there', null, chat(), 'chat would be made, with 2 wanted'],
  ['the same', chat(), chat(), 'chat is so already: nothing would change'],
  ['a template', chat(), chat({ rollout }), 'revision 2 would be rolled out'],
  [
    'a count and access',
    chat(),
    chat({ replicasWanted: 4, access: 'public' }),
    '2 → 4 replicas wanted; access would change',
  ],
];
test.each(changes)('a dry run on %s tells what it would change', (_title, now, then, text) => {
  expect(changesText(now, then)).toBe(text);
});

test('a revision that went back is no success', () => {
  expect(() => mustServe(chat(), 1)).not.toThrow();
  expect(() => mustServe(chat(), 2)).toThrow('revision 2 of chat did not serve: it went back to revision 1');
});
