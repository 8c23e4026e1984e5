import { afterEach, expect, test } from 'vitest';
import { connectDocker } from '../../src/docker/connect.js';
import type { PullProgress } from '../../src/docker/pull-progress.js';
import { testEngine } from './engine.js';
import { REGISTRY_USER, type TestRegistry, testRegistry } from './registry.js';

const { containers } = testEngine();
const docker = connectDocker();
const opened: TestRegistry[] = [];

async function registry(options = { login: false }): Promise<TestRegistry> {
  const made = await testRegistry(options);
  opened.push(made);
  return made;
}

afterEach(async () => {
  for (const { repository, close } of opened.splice(0)) {
    const images = await docker.listImages({ filters: { reference: [repository] } });
    for (const { Id } of images) await docker.getImage(Id).remove({ force: true });
    await close();
  }
});

test('a pull tells its progress in bytes and what it brought', async () => {
  const { repository, digest } = await registry();
  const progress: PullProgress[] = [];
  const image = await containers.pull(`${repository}:1`, { onProgress: (step) => progress.push(step) });
  expect(image).toMatchObject({ digest, imageId: expect.stringMatching(/^sha256:/), architecture: 'amd64' });
  expect(progress.at(-1)).toMatchObject({ layers: 2, layersDone: 2 });
  for (const { currentBytes, totalBytes } of progress) expect(currentBytes).toBeLessThanOrEqual(totalBytes);
  expect(await containers.imageDigest(`${repository}:1`)).toEqual(image);
});

test('an image that is there, by tag, digest or id, is not pulled again', async () => {
  const { repository, digest, layerRequests, close } = await registry();
  const first = await containers.pull(`${repository}@${digest}`);
  await close();
  expect(await containers.pull(`${repository}@${digest}`)).toEqual(first);
  expect(await containers.pull(first.imageId)).toMatchObject({ imageId: first.imageId });
  expect(layerRequests()).toBe(2);
});

test('all who ask at a time share one download, and one may leave', async () => {
  const { repository, layerRequests, flow } = await registry();
  flow(false);
  const abort = new AbortController();
  const pulls = [1, 2, 3].map(() => containers.pull(`${repository}:1`));
  const leaving = containers.pull(`${repository}:1`, { signal: abort.signal });
  await expect.poll(layerRequests).toBe(2);
  abort.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  flow(true);
  const [first, ...others] = await Promise.all(pulls);
  expect(others).toEqual([first, first]);
  expect(layerRequests()).toBe(2);
});

test('a pull that nobody waits for ends, and the next one begins anew', async () => {
  const { repository, layerRequests, flow } = await registry();
  flow(false);
  const abort = new AbortController();
  const leaving = containers.pull(`${repository}:1`, { signal: abort.signal });
  await expect.poll(layerRequests).toBe(2);
  abort.abort(new Error('enough'));
  await expect(leaving).rejects.toThrow('enough');
  expect(await containers.imageDigest(`${repository}:1`)).toBeUndefined();
  flow(true);
  expect(await containers.pull(`${repository}:1`)).toBeDefined();
});

test('a private image comes with the right credentials only', async () => {
  const { repository, digest } = await registry({ login: true });
  const wrong = { ...REGISTRY_USER, password: 'not-the-password' };
  for (const auth of [undefined, wrong]) {
    const failure = await containers.pull(`${repository}:1`, auth && { auth }).catch((error: unknown) => error);
    expect(failure).toMatchObject({ kind: 'registry_auth', whose: 'user' });
    expect(String(failure)).not.toContain(wrong.password);
  }
  expect(await containers.pull(`${repository}:1`, { auth: REGISTRY_USER })).toMatchObject({ digest });
});

test.each([
  ['a tag that the registry does not know', (repository: string) => `${repository}:2`, 'image_not_found'],
  ['a registry that is not there', () => '127.0.0.1:1/berth/hello:1', 'pull_failed'],
  ['a name that is none', () => 'Berth/HELLO', 'image_not_found'],
  ['an image id that the engine does not hold', () => `sha256:${'0'.repeat(64)}`, 'image_not_found'],
])('%s fails', async (_title, reference, kind) => {
  const { repository } = await registry();
  await expect(containers.pull(reference(repository))).rejects.toMatchObject({ kind });
});

test('with the policy always the registry is asked, also for an image that is there', async () => {
  const { repository, close } = await registry();
  const first = await containers.pull(`${repository}:1`);
  expect(await containers.pull(`${repository}:1`, { policy: 'always' })).toEqual(first);
  await close();
  await expect(containers.pull(`${repository}:1`, { policy: 'always' })).rejects.toMatchObject({ kind: 'pull_failed' });
});

test('with the policy never nothing is asked of the registry', async () => {
  const { repository, layerRequests } = await registry();
  await expect(containers.pull(`${repository}:1`, { policy: 'never' })).rejects.toMatchObject({
    kind: 'image_not_found',
  });
  expect(layerRequests()).toBe(0);
});
