import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connectDocker } from '../../src/docker/connect.js';
import { testEngine, textOf } from './engine.js';
import { MIB } from './spec.js';

const { containers, ended, started } = testEngine();

/** What a script prints inside a container. */
async function seen(script: string, overrides: Parameters<typeof ended>[0] = {}): Promise<string> {
  const { name } = await ended({ command: ['sh', '-c', script], ...overrides });
  return textOf(containers.logs(name));
}

/** A limit under cgroup v2 or v1, whichever the machine has. */
const limit = (v2: string, v1: string): string => `cat /sys/fs/cgroup/${v2} 2>/dev/null || cat /sys/fs/cgroup/${v1}`;

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-docker-'));
  await writeFile(join(folder, 'file'), 'content\n');
});
afterAll(() => rm(folder, { recursive: true, force: true }));

test('memory is limited', async () => {
  expect(await seen(limit('memory.max', 'memory/memory.limit_in_bytes'))).toBe(`${64 * MIB}\n`);
});

test('there is no swap beside it', async () => {
  const { name } = await ended({ command: ['true'] });
  const { HostConfig } = await connectDocker().getContainer(name).inspect();
  expect(HostConfig).toMatchObject({ Memory: 64 * MIB, MemorySwap: 64 * MIB });
});

test('processes are limited', async () => {
  expect(await seen(limit('pids.max', 'pids/pids.max'), { pidsLimit: 77 })).toBe('77\n');
});

test('CPU is limited, also above the cores that the machine has', async () => {
  const quota = limit('cpu.max', 'cpu/cpu.cfs_quota_us');
  expect(await seen(quota, { cpuMilli: 250 })).toMatch(/^25000\b/);
  expect(await seen(quota, { cpuMilli: 64_000 })).toMatch(/^6400000\b/);
});

test('root has no capability and gets none', async () => {
  const status = await seen('id -u; grep -E "^(Cap|NoNewPrivs)" /proc/self/status');
  expect(status.replace(/\s+/g, ' ')).toBe(
    ['0', ...['Inh', 'Prm', 'Eff', 'Bnd', 'Amb'].map((set) => `Cap${set}: ${'0'.repeat(16)}`), 'NoNewPrivs: 1 '].join(
      ' ',
    ),
  );
});

test('the command is the child of an init', async () => {
  expect(await seen('cat /proc/1/comm; echo $PPID')).toBe('docker-init\n1\n');
});

test('a read-only folder can be read and not written, another one written', async () => {
  const mounts = [
    { source: folder, target: '/ro', readOnly: true },
    { source: folder, target: '/rw', readOnly: false },
  ];
  const output = await seen('cat /ro/file; touch /ro/x 2>/dev/null || echo refused; touch /rw/x && ls /ro', { mounts });
  expect(output).toBe('content\nrefused\nfile\nx\n');
});

test('a read-only image leaves /tmp to write to', async () => {
  const script = 'touch /x 2>/dev/null || echo refused; touch /tmp/x && echo ok';
  expect(await seen(script, { readonlyRootfs: true })).toBe('refused\nok\n');
});

test('user, folder, host name and environment are as asked', async () => {
  const overrides = { user: '1000:1000', workdir: '/tmp', hostname: 'main', environment: { A: 'x=1\ny' } };
  expect(await seen('id -u; pwd; hostname; echo "$A"', overrides)).toBe('1000\n/tmp\nmain\nx=1\ny\n');
});

test('simulated GPUs are told by environment, real ones are hidden', async () => {
  const devices = {
    driver: 'simulated',
    deviceIds: ['sim-0'],
    environment: { BERTH_SIMULATED_GPUS: 'sim-0' },
  } as const;
  expect(await seen('echo $BERTH_SIMULATED_GPUS $NVIDIA_VISIBLE_DEVICES', { devices })).toBe('sim-0 void\n');
});

test('going over the memory limit is noticed, also when only a child is killed', async () => {
  const seen = async (command: readonly string[]) => {
    const { name } = await ended({ command, memoryBytes: 16 * MIB });
    // the engine may hear of it a moment after the exit
    return vi.waitFor(async () => {
      const state = await containers.inspect(name);
      expect(state?.oomKilled).toBe(true);
      return state;
    });
  };
  expect((await seen(['sh', '-c', 'tail -c 60m /dev/zero; sleep 0.5']))?.exitCode).toBe(0);
  expect((await seen(['tail', '-c', '60m', '/dev/zero']))?.exitCode).toBe(137);
});

test('usage is a growing sum of CPU and the memory in use', async () => {
  const { name } = await started({ command: ['sh', '-c', 'while :; do :; done'], cpuMilli: 1000 });
  const first = await containers.stats(name);
  await new Promise((resolve) => setTimeout(resolve, 300));
  const second = await containers.stats(name);
  const grown = (second?.cpuNanoseconds ?? 0) - (first?.cpuNanoseconds ?? 0);
  expect(grown).toBeGreaterThan(10_000_000);
  expect(second?.memoryBytes).toBeGreaterThan(0);
  expect(second?.memoryBytes).toBeLessThan(64 * MIB);
  await containers.kill(name);
  await containers.stop(name, { graceSeconds: 0 });
  expect(await containers.stats(name)).toBeUndefined();
});
