import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import type { ExecOptions } from '../../src/docker/exec.js';
import { testEngine, textOf } from './engine.js';

const { containers, started, ended } = testEngine();

interface Ran {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: number | undefined;
}

async function run(name: string, command: readonly string[], options: ExecOptions = {}): Promise<Ran> {
  const parts = { stdout: '', stderr: '' };
  let exitCode: number | undefined;
  for await (const frame of containers.exec({ name, command, options })) {
    if (frame.stream === 'exit') exitCode = frame.exitCode;
    else parts[frame.stream] += frame.data.toString();
  }
  return { ...parts, exitCode };
}

test('logs tell output and errors apart, and the last lines', async () => {
  const { name } = await ended({ command: ['sh', '-c', 'echo one; echo oops >&2; sleep 0.2; echo 2'] });
  expect(await textOf(containers.logs(name))).toBe('one\n2\n');
  expect(await textOf(containers.logs(name), 'stderr')).toBe('oops\n');
  expect(await textOf(containers.logs(name, { tail: 1 }))).toBe('2\n');
});

test('logs since a moment leave out what is older', async () => {
  const { name } = await ended({ command: ['sh', '-c', 'echo old; sleep 1.2; echo new'] });
  const { startedAt } = (await containers.inspect(name)) ?? {};
  const sinceSeconds = (startedAt?.getTime() ?? 0) / 1000 + 0.8;
  expect(await textOf(containers.logs(name, { sinceSeconds }))).toBe('new\n');
});

test('following brings lines as they come, and ends with the container', async () => {
  const { name } = await started({ command: ['sh', '-c', 'for i in 1 2 3; do echo $i; sleep 0.1; done'] });
  expect(await textOf(containers.logs(name, { follow: true }))).toBe('1\n2\n3\n');
});

test('following ends quietly when its reader has enough', async () => {
  const { name } = await started({ command: ['sh', '-c', 'echo up; sleep 60'] });
  const abort = new AbortController();
  const read: string[] = [];
  for await (const { data } of containers.logs(name, { follow: true, signal: abort.signal })) {
    read.push(data.toString());
    abort.abort();
  }
  expect(read).toEqual(['up\n']);
});

test('a large log is complete', async () => {
  const { name } = await ended({ command: ['sh', '-c', 'seq 1 200000'] });
  const lines = (await textOf(containers.logs(name))).trimEnd().split('\n');
  expect([lines.length, lines.at(0), lines.at(-1)]).toEqual([200_000, '1', '200000']);
});

test('a command runs in a container with its environment and folder, and tells its exit code', async () => {
  const { name } = await started();
  const script = 'echo "$A"; pwd; echo oops >&2; exit 3';
  const options = { env: { A: 'x y' }, workdir: '/tmp' };
  expect(await run(name, ['sh', '-c', script], options)).toEqual({
    stdout: 'x y\n/tmp\n',
    stderr: 'oops\n',
    exitCode: 3,
  });
});

test('a command reads its input to the end and answers after it', async () => {
  const { name } = await started();
  const input = 'line\n'.repeat(50_000);
  const counted = await run(name, ['sh', '-c', 'wc -l; echo done'], { stdin: Readable.from([input]) });
  expect(counted).toEqual({ stdout: '50000\ndone\n', stderr: '', exitCode: 0 });
});

test('a command that does not read its input ends all the same', async () => {
  const { name } = await started();
  const endless = new Readable({ read: () => undefined });
  expect(await run(name, ['echo', 'hi'], { stdin: endless })).toMatchObject({ stdout: 'hi\n', exitCode: 0 });
});

test('a terminal has one stream', async () => {
  const { name } = await started();
  const ran = await run(name, ['sh', '-c', 'test -t 1 && echo tty; echo oops >&2'], { tty: true });
  expect(ran).toEqual({ stdout: 'tty\r\noops\r\n', stderr: '', exitCode: 0 });
});

test('a command that is not there ends with 126 or 127, or is a bad command', async () => {
  const { name } = await started();
  const ran = await run(name, ['nosuch']).catch((error: unknown) => error);
  expect(ran).toSatisfy(
    (value: Ran & { kind?: string }) => value.kind === 'bad_command' || [126, 127].includes(value.exitCode ?? 0),
  );
});

test('a command has no capability either', async () => {
  const { name } = await started();
  const { stdout } = await run(name, ['grep', 'CapEff', '/proc/self/status']);
  expect(stdout).toBe('CapEff:\t0000000000000000\n');
});

test('a container that has ended runs no command', async () => {
  const { name } = await ended({ command: ['true'] });
  await expect(run(name, ['true'])).rejects.toMatchObject({ name: 'ContainerFailure' });
});

test('aborting a command ends its frames without an exit', async () => {
  const { name } = await started();
  const signal = AbortSignal.timeout(300);
  expect(await run(name, ['sh', '-c', 'echo up; sleep 60'], { signal })).toEqual({
    stdout: 'up\n',
    stderr: '',
    exitCode: undefined,
  });
});
