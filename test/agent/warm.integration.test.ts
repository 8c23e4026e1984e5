import { ApplicationFailure } from '@temporalio/common';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { WarmImages } from '../../activities/node/node-activities.js';
import { connectDocker } from '../../src/docker/connect.js';
import { type TestRegistry, testRegistry } from '../docker/registry.js';
import { startTestNode, type TestAgent, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
let registry: TestRegistry;
beforeEach(async () => {
  [here, registry] = await Promise.all([startTestNode(), testRegistry({ login: false })]);
});
afterEach(async () => {
  const docker = connectDocker();
  const images = await docker.listImages({ filters: { reference: [registry.repository] } });
  for (const { Id } of images) await docker.getImage(Id).remove({ force: true });
  await registry.close();
  await here.close();
});

const warm = ({ activities, environment }: TestAgent, images: readonly string[]) =>
  environment.run((input: WarmImages) => activities.warm(input), { images });

test('warm brings images in their order, and what is there is success', async () => {
  const agent = await here.startAgent();
  const image = `${registry.repository}:1`;
  await warm(agent, [here.busybox, image]);
  const first = registry.layerRequests();
  await warm(agent, [image, here.busybox]);
  expect(first).toBe(2);
  expect(registry.layerRequests()).toBe(first);
  expect(await here.engine.imageDigest(image)).toBeDefined();
});

test('an image that does not exist is named, is not tried again, and nothing after it is pulled', async () => {
  const agent = await here.startAgent();
  const missing = `${registry.repository}:2`;
  const failure: unknown = await warm(agent, [missing, `${registry.repository}:1`]).catch((error: unknown) => error);
  expect(failure).toBeInstanceOf(ApplicationFailure);
  expect(failure).toMatchObject({ type: 'WarmFailure', nonRetryable: true });
  expect((failure as Error).message).toContain(missing);
  expect(registry.layerRequests()).toBe(0);
});

test('a registry that is away is tried again', async () => {
  const agent = await here.startAgent();
  const away = 'localhost:1/berth/hello:1';
  const failure: unknown = await warm(agent, [away]).catch((error: unknown) => error);
  expect(failure).toMatchObject({ type: 'WarmFailure', nonRetryable: false });
  expect((failure as Error).message).toContain(away);
});
