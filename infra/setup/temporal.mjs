// Finds Temporal's server, or gets it: an existing one, PATH, the cache, the SDK's download, Go.
import { existsSync, readdirSync, renameSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import {
  cacheDir,
  isExecutable,
  isMain,
  main,
  PROJECT_ROOT,
  run,
  SetupError,
  say,
  which,
  withLock,
} from './common.mjs';

/** The last command line that `go install` can build; server 1.29.1 with its web UI. */
const GO_PACKAGE = 'github.com/temporalio/cli/cmd/temporal@v1.5.1';

const cachedPath = () => join(cacheDir('bin'), 'temporal');

const goBins = () => [process.env.GOBIN, join(process.env.GOPATH ?? join(homedir(), 'go'), 'bin')].filter(Boolean);

/** What is there already, without installing: an address, a program, or undefined. */
export function findTemporal() {
  const address = process.env.BERTH_TEMPORAL_ADDRESS || process.env.TEMPORAL_ADDRESS;
  if (address) return { kind: 'server', address, how: 'the server at the configured address' };
  return findTemporalProgram();
}

/** As `findTemporal`, but only a program: tests start their own servers whatever the environment names. */
export function findTemporalProgram() {
  const onPath = which('temporal');
  if (onPath !== undefined) return { kind: 'program', path: onPath, how: 'on PATH' };
  if (isExecutable(cachedPath())) return { kind: 'program', path: cachedPath(), how: 'cached by an earlier set-up' };
  const byGo = goBins()
    .map((dir) => join(dir, 'temporal'))
    .find(isExecutable);
  return byGo === undefined ? undefined : { kind: 'program', path: byGo, how: 'in the Go programs folder' };
}

/** The SDK fetches its own server when it starts one; a separate process, so that a hanging download can be ended. */
async function downloadBySdk() {
  if (!existsSync(join(PROJECT_ROOT, 'node_modules', '@temporalio', 'testing'))) return undefined;
  const downloadDir = cacheDir('temporal-download');
  const script = `
    import { TestWorkflowEnvironment } from '@temporalio/testing';
    const executable = { type: 'cached-download', downloadDir: ${JSON.stringify(downloadDir)} };
    await (await TestWorkflowEnvironment.createLocal({ server: { executable } })).teardown();`;
  await run(process.execPath, ['--input-type=module', '-e', script], { timeoutSeconds: 90, cwd: PROJECT_ROOT });
  const file = readdirSync(downloadDir)
    .map((name) => join(downloadDir, name))
    .find(isExecutable);
  if (file === undefined) return undefined;
  renameSync(file, cachedPath());
  return { kind: 'program', path: cachedPath(), how: "downloaded by Temporal's SDK" };
}

async function installByGo() {
  const go = which('go', ['/usr/local/go/bin', '/usr/lib/go/bin']);
  if (go === undefined) return undefined;
  say(`temporal: building ${GO_PACKAGE} (about three minutes, once)`);
  const env = { GOBIN: cacheDir('bin'), GOFLAGS: '-mod=mod' };
  const done = await run(go, ['install', GO_PACKAGE], { timeoutSeconds: 1200, env });
  if (done.code === 0 && isExecutable(cachedPath())) {
    return { kind: 'program', path: cachedPath(), how: `built with ${GO_PACKAGE}` };
  }
  throw new SetupError(
    `temporal: "go install ${GO_PACKAGE}" ended with ${done.code}: ${done.stderr.trim().split('\n').slice(-2).join(' | ')}`,
    'make the Go module proxy reachable, or put a `temporal` program on PATH',
  );
}

/** Finds or installs. A second run finds what the first one got. */
export async function ensureTemporal(find = findTemporal) {
  const found = find();
  if (found !== undefined) return found;
  return withLock('temporal', async () => {
    const got = find() ?? (await downloadBySdk()) ?? (await installByGo());
    if (got !== undefined) return got;
    throw new SetupError(
      "temporal: no server configured, no `temporal` on PATH, the SDK's download is not reachable, and Go is not installed",
      'install the Temporal CLI, or Go, or set BERTH_TEMPORAL_ADDRESS to a running server',
    );
  });
}

if (isMain(import.meta.url)) {
  await main(async () => {
    const got = await ensureTemporal();
    say(`temporal: ${got.address ?? got.path} (${got.how})`);
  });
}
