// `npm run test:vllm`: what npm test shows against simulated engines, against the real vLLM on the CPU.
// Installs it first (5 GB, minutes, once). Ends with "N passed, N failed" alone on the last line.
import { spawnSync } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT_ROOT, say } from '../setup/common.mjs';
import { readReport } from '../test/vitest-report.mjs';
import { ensureVllm, VLLM_VERSION } from './setup.mjs';

const RESULTS = join(PROJECT_ROOT, 'test-results');
const REPORT = join(RESULTS, 'vllm.json');
const VITEST = join(PROJECT_ROOT, 'node_modules', 'vitest', 'vitest.mjs');

function runTests() {
  mkdirSync(RESULTS, { recursive: true });
  rmSync(REPORT, { force: true });
  const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${REPORT}`];
  const args = [VITEST, 'run', '--project', 'vllm', ...reporters, ...process.argv.slice(2)];
  spawnSync(process.execPath, args, { cwd: PROJECT_ROOT, stdio: ['ignore', 2, 2] });
  return readReport(REPORT) ?? { passed: 0, failures: [{ title: 'the tests gave no result', reason: 'see above' }] };
}

try {
  await ensureVllm();
  say(`vllm: ${VLLM_VERSION} on the CPU`);
  const { passed, failures } = runTests();
  for (const { title, reason } of failures) console.log(`- ${title}\n    ${reason}`);
  console.log(`\n${passed} passed, ${failures.length} failed`);
  process.exitCode = failures.length === 0 ? 0 : 1;
} catch (error) {
  console.log(`- vLLM could not be set up\n    ${error.message}\n\n0 passed, 1 failed`);
  process.exitCode = 1;
}
