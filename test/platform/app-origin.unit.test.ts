import { expect, test } from 'vitest';
import type { SessionId } from '../../src/contract/index.js';
import { appOfHost, appOrigin, portNamed } from '../../src/platform/app-origin.js';

const sessionId = 'ses_01m8p4000000000000000000zz' as SessionId;
const URL_OF_APPS = 'http://apps.localhost:8084';

test('an origin leads back to its session and port', () => {
  const origin = appOrigin(URL_OF_APPS, sessionId, { name: 'jupyter', containerPort: 8888 });
  expect(origin).toBe('http://jupyter--01m8p4000000000000000000zz.apps.localhost:8084');
  expect(appOfHost('apps.localhost', new URL(origin).host)).toEqual({ sessionId, port: 'jupyter' });
});

test('a name with dashes keeps them, and one that is too long for a label gives way to its number', () => {
  const dashed = appOrigin(URL_OF_APPS, sessionId, { name: 'a--b-c', containerPort: 1 });
  expect(appOfHost('apps.localhost', new URL(dashed).host)?.port).toBe('a--b-c');
  const long = appOrigin(URL_OF_APPS, sessionId, { name: 'x'.repeat(36), containerPort: 8080 });
  expect(appOfHost('apps.localhost', new URL(long).host)?.port).toBe('8080');
  expect(new URL(long).hostname.split('.')[0]?.length).toBeLessThanOrEqual(63);
});

const strangers: [title: string, host: string | undefined][] = [
  ['no host', undefined],
  ['the host of apps itself', 'apps.localhost:8084'],
  ['a host that only ends alike', 'jupyter--01m8p4000000000000000000zz.myapps.localhost'],
  ['a deeper name', 'x.jupyter--01m8p4000000000000000000zz.apps.localhost'],
  ['a session id that is none', 'jupyter--01m8.apps.localhost'],
  ['an address', '127.0.0.1:8084'],
];
test.each(strangers)('%s names no app', (_title, host) => {
  expect(appOfHost('apps.localhost', host)).toBeNull();
});

test('a port is found by its name before its number', () => {
  const ports = [
    { name: '8888', containerPort: 80 },
    { name: 'web', containerPort: 8888 },
  ];
  expect([portNamed(ports, '8888')?.containerPort, portNamed(ports, '80')?.name, portNamed(ports, 'none')]).toEqual([
    80,
    '8888',
    undefined,
  ]);
});
