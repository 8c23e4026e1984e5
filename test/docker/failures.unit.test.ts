import { expect, test } from 'vitest';
import { ContainerFailure, classify, type FailureKind } from '../../src/docker/failures.js';

/** As dockerode throws it; the messages were recorded from engine 20.10.24 unless the title says otherwise. */
function engineSays(statusCode: number, message: string): Error {
  const error = new Error(`(HTTP code ${statusCode}) server error - ${message} `);
  return Object.assign(error, { statusCode, json: { message } });
}
const runc = (words: string): string =>
  `failed to create shim task: OCI runtime create failed: runc create failed: unable to start container process: ${words}: unknown`;

const cases: readonly [title: string, statusCode: number, message: string, kind: FailureKind, detail: string][] = [
  [
    'a port of another container',
    500,
    'driver failed programming external connectivity on endpoint bt2 (4e68ad82): Bind for 127.0.0.1:18999 failed: port is already allocated',
    'port_taken',
    '127.0.0.1:18999',
  ],
  [
    'a port of another program',
    500,
    'driver failed programming external connectivity on endpoint x (3eab): Error starting userland proxy: listen tcp4 127.0.0.1:18998: bind: address already in use',
    'port_taken',
    '127.0.0.1:18998',
  ],
  [
    'a program that is not in the image',
    400,
    runc('exec: "nosuch": executable file not found in $PATH'),
    'bad_command',
    'nosuch',
  ],
  ['a file that is no program', 400, runc('exec: "/etc/passwd": permission denied'), 'bad_command', '/etc/passwd'],
  [
    'a user that the image does not know',
    400,
    'unable to find user nosuch: no matching entries in passwd file',
    'bad_command',
    'unable to find user nosuch: no matching entries in passwd file',
  ],
  [
    'a working folder that is a file',
    400,
    'Cannot mkdir: /etc/passwd is not a directory',
    'bad_command',
    'Cannot mkdir: /etc/passwd is not a directory',
  ],
  ['no command', 400, 'No command specified', 'bad_command', 'No command specified'],
  [
    'a folder that is not there',
    400,
    'invalid mount config for type "bind": bind source path does not exist: /nosuchdir',
    'bad_mount',
    'bind source path does not exist: /nosuchdir',
  ],
  [
    'a relative target',
    400,
    `invalid mount config for type "bind": invalid mount path: 'x' mount path must be absolute`,
    'bad_mount',
    `invalid mount path: 'x' mount path must be absolute`,
  ],
  [
    'no GPU runtime',
    500,
    'could not select device driver "nvidia" with capabilities: [[gpu]]',
    'device_unavailable',
    'could not select device driver "nvidia" with capabilities: [[gpu]]',
  ],
  [
    'too little memory to ask for',
    400,
    'Minimum memory limit allowed is 6MB',
    'out_of_memory',
    'Minimum memory limit allowed is 6MB',
  ],
  [
    'too little memory to start',
    500,
    runc('container init was OOM-killed (memory limit too low?)'),
    'out_of_memory',
    runc('container init was OOM-killed (memory limit too low?)').slice(0, 200),
  ],
  [
    'an image that is not there',
    404,
    'No such image: nosuch:latest',
    'image_not_found',
    'No such image: nosuch:latest',
  ],
  [
    'a tag that the registry does not know',
    404,
    'manifest for 127.0.0.1:5000/a:b not found: manifest unknown: manifest unknown',
    'image_not_found',
    'manifest for 127.0.0.1:5000/a:b not found: manifest unknown: manifest unknown',
  ],
  [
    'a name that is none',
    400,
    'invalid reference format: repository name must be lowercase',
    'image_not_found',
    'invalid reference format: repository name must be lowercase',
  ],
  [
    'a private image (Docker Hub)',
    404,
    `pull access denied for nosuch, repository does not exist or may require 'docker login': denied: requested access to the resource is denied`,
    'registry_auth',
    'nosuch',
  ],
  [
    'wrong credentials',
    500,
    'Get "http://127.0.0.1:5000/v2/a/manifests/b": unauthorized: authentication required',
    'registry_auth',
    'Get "http://127.0.0.1:5000/v2/a/manifests/b": unauthorized: authentication required',
  ],
  [
    'a registry that is not there',
    500,
    'Get "https://r.invalid/v2/": dial tcp: lookup r.invalid on 10.0.0.1:53: no such host',
    'pull_failed',
    'Get "https://r.invalid/v2/": dial tcp: lookup r.invalid on 10.0.0.1:53: no such host',
  ],
  [
    'a registry that has had enough (Docker Hub)',
    500,
    'toomanyrequests: You have reached your pull rate limit.',
    'pull_failed',
    'toomanyrequests: You have reached your pull rate limit.',
  ],
  [
    'a taken name',
    409,
    'Conflict. The container name "/a" is already in use by container "b". You have to remove (or rename) that container to be able to reuse that name.',
    'name_conflict',
    'Conflict. The container name "/a" is already in use by container "b". You have to remove (or rename) that container to be able to reuse that name.',
  ],
  ['a container that is gone', 404, 'No such container: a', 'no_such_container', 'No such container: a'],
  [
    'a network that is there twice',
    400,
    'network berth-ses_1 is ambiguous (2 matches found on name)',
    'engine_error',
    'network berth-ses_1 is ambiguous (2 matches found on name)',
  ],
  ['a field that makes no sense', 400, 'invalid hostname', 'bad_request', 'invalid hostname'],
  [
    'anything else',
    500,
    'could not find an available, non-overlapping IPv4 address pool',
    'engine_error',
    'could not find an available, non-overlapping IPv4 address pool',
  ],
];
for (const [title, statusCode, message, kind, detail] of cases) {
  test(`${title} is ${kind}`, () => {
    expect(classify(engineSays(statusCode, message))).toMatchObject({ kind, detail });
  });
}

test.each(['ECONNREFUSED', 'ENOENT', 'ECONNRESET', 'EPIPE', 'EACCES'])(
  '%s is an engine that does not answer',
  (code) => {
    const failure = classify(Object.assign(new Error('connect'), { code }));
    expect(failure).toMatchObject({ kind: 'engine_unavailable', whose: 'platform', retryable: true });
  },
);

const owners: readonly [kind: FailureKind, whose: 'user' | 'platform', retryable: boolean][] = [
  ['bad_command', 'user', false],
  ['image_not_found', 'user', false],
  ['registry_auth', 'user', false],
  ['port_taken', 'platform', true],
  ['pull_failed', 'platform', true],
  ['device_unavailable', 'platform', true],
  ['name_conflict', 'platform', false],
];
for (const [kind, whose, retryable] of owners) {
  test(`${kind} is the ${whose}'s, and tried again: ${retryable}`, () => {
    expect(new ContainerFailure(kind)).toMatchObject({ whose, retryable });
  });
}

test('a message names no environment value, no password and no credentials of a URL', () => {
  const failure = classify(engineSays(500, 'cannot use hunter2 at https://me:pass@r.example/v2'), ['hunter2', '']);
  expect(failure.message).toBe('the container engine failed: cannot use … at https://r.example/v2');
  expect(classify(engineSays(400, 'invalid environment variable: =topsecret')).message).not.toContain('topsecret');
  expect(JSON.stringify(failure) + String(failure.cause)).not.toContain('hunter2');
});

test('a message stays short', () => {
  expect(classify(engineSays(500, 'x'.repeat(10_000))).message.length).toBeLessThan(260);
});

test('a failure passes through unchanged, and what is no error at all becomes one', () => {
  const failure = new ContainerFailure('bad_command', 'x');
  expect(classify(failure)).toBe(failure);
  expect(classify('what')).toMatchObject({ kind: 'engine_error', detail: 'what' });
});
