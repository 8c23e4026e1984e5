import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { expect, test } from 'vitest';
import { choosePort, isPortFree } from '../../src/cli/supervisor/ports.js';

test('the usual port where it is free and not taken; else one below those of outgoing connections', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: busy } = server.address() as AddressInfo;
  expect(await isPortFree(busy)).toBe(false);
  const free = await choosePort(undefined, new Set());
  expect(free).toBeGreaterThanOrEqual(20_000);
  expect(free).toBeLessThan(30_000);
  expect(await choosePort(free, new Set())).toBe(free);
  expect(await choosePort(free, new Set([free]))).not.toBe(free);
  expect(await choosePort(busy, new Set())).not.toBe(busy);
  server.close();
});
