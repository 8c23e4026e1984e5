import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { bundleWorkflowCode } from '@temporalio/worker';
import { type BuildOptions, build } from 'esbuild';
import { run, withLock } from '../setup/common.mjs';
import { ENTRIES, type Entry, WORKFLOWS } from './entries.js';
import { sourceHash } from './source-hash.js';

const ROOT = dirname(dirname(import.meta.dirname));
const DIST = join(ROOT, 'dist');
const STAMP = join(DIST, 'build.json');

/** CommonJS packages inside an ES module still ask for `require`. */
const REQUIRE_BANNER =
  "import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);";

interface Stamp {
  readonly sourceHash: string;
  /** Of the workflow code: Temporal's worker deployment version. */
  readonly buildId: string;
  readonly missing: readonly string[];
}

const COMMON: BuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node20.19',
  format: 'esm',
  sourcemap: true,
  logLevel: 'warning',
  legalComments: 'none',
};

/** What stays in node_modules even for the command line: native code and what only `berth up` loads. */
const NEVER_INSIDE = ['@temporalio/*', 'pino', 'pg-native', 'cpu-features', 'ssh2', '@resvg/*'];

async function bundle(entries: readonly Entry[], isSelfContained: boolean): Promise<void> {
  if (entries.length === 0) return;
  await build({
    ...COMMON,
    outdir: DIST,
    entryPoints: entries.map(({ source, output }) => ({ in: join(ROOT, source), out: output })),
    ...(isSelfContained
      ? { splitting: true, chunkNames: 'chunks/[name]-[hash]', external: NEVER_INSIDE, banner: { js: REQUIRE_BANNER } }
      : { packages: 'external' }),
  });
}

/** Built once, not by each worker at its start: 2 s and 200 MB each. */
async function bundleWorkflows(): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: join(ROOT, WORKFLOWS.source),
    logger: { log() {}, trace() {}, debug() {}, info() {}, warn: console.warn, error: console.error },
  });
  const file = join(DIST, WORKFLOWS.output);
  writeFileSync(`${file}.partial`, code);
  renameSync(`${file}.partial`, file);
  return createHash('sha256').update(code).digest('hex').slice(0, 12);
}

async function emitTypes(): Promise<void> {
  const args = ['tsc', '-p', 'tsconfig.json', '--emitDeclarationOnly', '--noEmit', 'false', '--outDir', 'dist/types'];
  const done = await run('npx', args, { cwd: ROOT });
  if (done.code !== 0) throw new Error(`types: ${done.stdout.trim()}`);
}

function readStamp(): Stamp | undefined {
  return existsSync(STAMP) ? (JSON.parse(readFileSync(STAMP, 'utf8')) as Stamp) : undefined;
}

async function buildAll(hash: string): Promise<Stamp> {
  const missing = [...ENTRIES, WORKFLOWS].filter(({ source }) => !existsSync(join(ROOT, source)));
  const present = ENTRIES.filter((entry) => !missing.includes(entry));
  mkdirSync(DIST, { recursive: true });
  rmSync(STAMP, { force: true });
  await bundle(
    present.filter((entry) => entry.isSelfContained),
    true,
  );
  await bundle(
    present.filter((entry) => !entry.isSelfContained),
    false,
  );
  const buildId = missing.includes(WORKFLOWS) ? 'none' : await bundleWorkflows();
  if (existsSync(join(DIST, 'berth.js'))) chmodSync(join(DIST, 'berth.js'), 0o755);
  const stamp = { sourceHash: hash, buildId, missing: missing.map(({ source }) => source) };
  writeFileSync(STAMP, `${JSON.stringify(stamp, null, 2)}\n`);
  return stamp;
}

const { values: flags } = parseArgs({
  options: { strict: { type: 'boolean' }, types: { type: 'boolean' }, force: { type: 'boolean' } },
});

await withLock('build', async () => {
  const started = performance.now();
  const hash = sourceHash(ROOT);
  const last = readStamp();
  const isFresh = last?.sourceHash === hash && flags.force !== true;
  const stamp = isFresh ? last : await buildAll(hash);
  if (flags.types === true) await emitTypes();
  const took = `${Math.round(performance.now() - started)} ms`;
  process.stderr.write(`build: ${isFresh ? 'nothing changed' : 'done'}, workflows ${stamp.buildId} (${took})\n`);
  if (stamp.missing.length === 0) return;
  process.stderr.write(`build: no source for ${stamp.missing.join(', ')}\n`);
  if (flags.strict === true) process.exitCode = 1;
});
