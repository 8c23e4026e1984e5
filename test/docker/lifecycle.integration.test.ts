import { expect, test } from 'vitest';
import { present, testEngine, textOf } from './engine.js';

const { containers, labels, spec, started, ended } = testEngine();
const sh = (script: string): readonly string[] => ['sh', '-c', script];

test('a second create with an equal spec finds the first one’s container', async () => {
  const wanted = spec({ environment: { A: '1', B: '2' } });
  const first = await containers.ensureCreated(wanted);
  const again = { ...wanted, environment: { B: '2', A: '1' } };
  const answers = await Promise.all([containers.ensureCreated(again), containers.ensureCreated(wanted)]);
  expect(answers).toEqual([first, first]);
});

test('two creates at once make one container', async () => {
  const wanted = spec();
  const [a, b] = await Promise.all([containers.ensureCreated(wanted), containers.ensureCreated(wanted)]);
  expect(a).toEqual(b);
});

test('another spec under the same name is a conflict', async () => {
  const wanted = spec();
  await containers.ensureCreated(wanted);
  const other = { ...wanted, command: ['sleep', '61'] };
  await expect(containers.ensureCreated(other)).rejects.toMatchObject({ kind: 'name_conflict', detail: wanted.name });
});

test('a second start of a running container changes nothing', async () => {
  const first = await started();
  const second = await containers.ensureStarted(first.name);
  expect(first.status).toBe('running');
  expect(second.startedAt).toEqual(first.startedAt);
});

test('a second start does not run an ended job again', async () => {
  const first = await ended({ command: sh('exit 3') });
  const second = await containers.ensureStarted(first.name);
  expect(second).toMatchObject({ status: 'exited', exitCode: 3 });
  expect(second.startedAt).toEqual(first.startedAt);
});

test.each([
  ['exit 0', 0],
  ['exit 42', 42],
  ['exit 127', 127],
  ['kill -9 $$', 137],
  ['kill -15 $$', 143],
])('%s ends with %i', async (script, exitCode) => {
  const state = await ended({ command: sh(script) });
  expect(state).toMatchObject({ status: 'exited', exitCode, oomKilled: false });
  expect(await containers.diagnoseExit(state)).toBeUndefined();
  expect(present(state.finishedAt).getTime()).toBeGreaterThanOrEqual(present(state.startedAt).getTime());
});

test('stopping gives the signal and waits, and a second stop finds it ended', async () => {
  const { name } = await started({
    command: sh('trap "echo bye; exit 7" TERM; echo up; while :; do sleep 0.05; done'),
  });
  await firstOutput(name);
  expect(await containers.stop(name, { graceSeconds: 10, signal: 'SIGTERM' })).toMatchObject({ exitCode: 7 });
  expect(await containers.stop(name, { graceSeconds: 10 })).toMatchObject({ exitCode: 7 });
  expect(await textOf(containers.logs(name))).toBe('up\nbye\n');
});

test('who does not obey is killed when the grace is over', async () => {
  const { name } = await started({ command: sh('trap "" TERM; echo up; while :; do sleep 0.05; done') });
  await firstOutput(name);
  const before = Date.now();
  expect(await containers.stop(name, { graceSeconds: 1, signal: 'SIGTERM' })).toMatchObject({ exitCode: 137 });
  expect(Date.now() - before).toBeGreaterThanOrEqual(900);
});

test('the container’s own stop signal is the default', async () => {
  const script = 'trap "exit 5" USR1; echo up; while :; do sleep 0.05; done';
  const { name } = await started({ command: sh(script), stopSignal: 'SIGUSR1' });
  await firstOutput(name);
  expect(await containers.stop(name, { graceSeconds: 10 })).toMatchObject({ exitCode: 5 });
});

test('kill twice, remove twice', async () => {
  const { name } = await started();
  for (let run = 0; run < 2; run += 1) await containers.kill(name);
  await Promise.all([containers.remove(name), containers.remove(name)]);
  await containers.remove(name);
  expect(await containers.inspect(name)).toBeUndefined();
});

test('what is not there: stopping, killing and removing succeed, starting fails', async () => {
  const name = 'berth-test-nobody';
  expect(await containers.stop(name, { graceSeconds: 1 })).toBeUndefined();
  await containers.kill(name);
  await containers.remove(name);
  expect(await containers.stats(name)).toBeUndefined();
  await expect(containers.ensureStarted(name)).rejects.toMatchObject({ kind: 'no_such_container' });
  await expect(textOf(containers.logs(name))).rejects.toMatchObject({ kind: 'no_such_container' });
  await expect(textOf(containers.exec({ name, command: ['true'] }))).rejects.toMatchObject({
    kind: 'no_such_container',
  });
});

test('the list tells running, ended and never started ones by label, with all that a report needs', async () => {
  const attempt = { 'berth-test.list': '1' };
  const running = await started({ labels: attempt });
  const over = await ended({ labels: attempt, command: sh('exit 9') });
  await containers.ensureCreated(spec({ labels: attempt }));
  const listed = await containers.list({ ...labels, 'berth-test.list': '' });
  expect(listed.map(({ status, exitCode }) => [status, exitCode])).toEqual([
    ['running', undefined],
    ['exited', 9],
    ['created', undefined],
  ]);
  expect(listed.slice(0, 2)).toEqual([running, over]);
  expect(await containers.list({ ...labels, 'berth-test.list': '2' })).toEqual([]);
});

async function firstOutput(name: string): Promise<void> {
  for await (const _ of containers.logs(name, { follow: true })) return;
}
