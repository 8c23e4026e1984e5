// `npm test`: sets up, checks, runs every test, and ends with "N passed, N failed" alone on the last line.
// With --chaos: test/chaos whole. With --only a,b: those parts (to try one; the result is then not the whole).
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join, relative } from 'node:path';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { PROJECT_ROOT, say } from '../setup/common.mjs';
import { BUILD, LANES, PROJECTS, SETUP } from './parts.mjs';
import { readReport } from './vitest-report.mjs';

const RESULTS = join(PROJECT_ROOT, 'test-results');
const { values: flags } = parseArgs({ options: { chaos: { type: 'boolean' }, only: { type: 'string' } } });
const only = flags.only?.split(',');
const isWanted = ({ name }) => only === undefined || only.includes(name);

const result = { passed: 0, failures: [] };
const fail = (part, title, reason) => result.failures.push({ part, title, reason });
const seconds = (sinceMs) => `${((performance.now() - sinceMs) / 1000).toFixed(1)} s`;

/** Runs a program in a group of its own, so that at the limit all it started ends with it. With a `prefix` its lines are shown. */
function runLimited(command, { minutes, nice, env = {}, prefix }) {
  return new Promise((resolve) => {
    const [program, ...args] = command;
    let output = '';
    let isLate = false;
    const child = spawn(program, args, {
      cwd: PROJECT_ROOT,
      env: { ...process.env, ...env },
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    if (nice > 0 && child.pid !== undefined) setPriority(child.pid, nice);
    const end = () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // it ended at the same moment
      }
    };
    const timer = setTimeout(() => {
      isLate = true;
      end();
    }, minutes * 60_000);
    process.once('exit', end);
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        output += `${line}\n`;
        if (prefix !== undefined) process.stderr.write(`${prefix}${line}\n`);
      });
    }
    const settle = (code) => {
      clearTimeout(timer);
      process.off('exit', end);
      resolve({ code, output, isLate });
    };
    child.on('error', (error) => {
      output += error.message;
      settle(-1);
    });
    child.on('close', (code) => settle(code ?? -1));
  });
}

const lastLines = (text, count) => text.trim().split('\n').slice(-count).join('\n    ');

async function setUp() {
  const broken = new Map();
  for (const { name, load, make } of SETUP) {
    const sinceMs = performance.now();
    try {
      if (broken.has('packages')) throw new Error('packages are missing');
      await make(await load());
      say(`set-up  ${name} (${seconds(sinceMs)})`);
    } catch (error) {
      broken.set(name, error.message);
      say(`set-up  ${name} FAILED: ${error.message}`);
    }
  }
  return broken;
}

async function check({ name, command, minutes }, nice = 0) {
  const sinceMs = performance.now();
  const { code, output, isLate } = await runLimited(command, { minutes, nice });
  if (code === 0) {
    result.passed += 1;
    say(`passed  ${name} (${seconds(sinceMs)})`);
    return;
  }
  say(`FAILED  ${name} (${seconds(sinceMs)})\n    ${lastLines(output, 40)}`);
  fail(name, name, isLate ? `not done within ${minutes} minutes` : `ended with code ${code}`);
}

async function runProject({ name, needs, minutes }, broken, { paths = [], env = {}, nice = 0 } = {}) {
  const missing = ['packages', ...needs].filter((part) => broken.has(part));
  if (missing.length > 0) {
    return fail(name, `the tests of "${name}" could not run`, missing.map((part) => broken.get(part)).join('; '));
  }
  const report = join(RESULTS, `${name}.json`);
  rmSync(report, { force: true });
  const vitest = join(PROJECT_ROOT, 'node_modules', 'vitest', 'vitest.mjs');
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${report}`];
  const command = [process.execPath, vitest, 'run', '--project', name, '--passWithNoTests', ...reporters, ...paths];
  const sinceMs = performance.now();
  const { code, output, isLate } = await runLimited(command, { minutes, env, nice, prefix: `${name.padEnd(11)} ` });
  const read = readReport(report);
  if (read === undefined) {
    if (code === 0) return say(`passed  ${name}: no tests there`);
    const reason = isLate ? `not done within ${minutes} minutes` : `vitest ended with ${code}: ${lastLines(output, 5)}`;
    return fail(name, `the tests of "${name}" gave no result`, reason);
  }
  result.passed += read.passed;
  for (const { file, title, reason } of read.failures) fail(name, `${relative(PROJECT_ROOT, file)}: ${title}`, reason);
  if (code !== 0 && read.failures.length === 0) fail(name, `the run of "${name}"`, `vitest ended with ${code}`);
  say(`${read.failures.length === 0 ? 'passed ' : 'FAILED '} ${name}: ${read.passed} passed (${seconds(sinceMs)})`);
}

async function runLane({ nice, parts }, broken, env) {
  for (const part of parts.filter(isWanted)) {
    if (part.isTests) await runProject(part, broken, { env, nice });
    else if (broken.has('packages')) fail(part.name, part.name, `could not run: ${broken.get('packages')}`);
    else await check(part, nice);
  }
}

async function runAll(broken) {
  const seed = process.env.BERTH_CHAOS_SEED || String(randomInt(1, 2 ** 31));
  say(`chaos seed ${seed} (BERTH_CHAOS_SEED=${seed} runs the same again)`);
  if (broken.has('packages')) fail(BUILD.name, BUILD.name, `could not run: ${broken.get('packages')}`);
  else if (isWanted(BUILD) || flags.chaos) await check(BUILD);
  if (!flags.chaos) {
    const env = { BERTH_CHAOS_SEED: seed };
    await Promise.all(LANES.map((lane) => runLane(lane, broken, env)));
    return;
  }
  const env = { BERTH_CHAOS: 'all', BERTH_CHAOS_SEED: seed };
  for (const project of PROJECTS.filter(({ name }) => name === 'integration' || name === 'e2e')) {
    await runProject({ ...project, minutes: 120 }, broken, { paths: ['test/chaos'], env });
  }
}

mkdirSync(RESULTS, { recursive: true });
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(130));
const broken = await setUp();
await runAll(broken);
if (result.failures.length > 0) {
  console.log('\nfailures:');
  for (const { part, title, reason } of result.failures) console.log(`- [${part}] ${title}\n    ${reason}`);
}
console.log(`\n${result.passed} passed, ${result.failures.length} failed`);
process.exitCode = result.failures.length === 0 ? 0 : 1;
