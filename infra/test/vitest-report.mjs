// Reads what vitest wrote with `--reporter=json`.
import { existsSync, readFileSync } from 'node:fs';

/** `passed` and the failures of one run, each with its file, title and first line of reason. A file that did not load counts as one failure. */
export function readReport(file) {
  if (!existsSync(file)) return undefined;
  const report = JSON.parse(readFileSync(file, 'utf8'));
  const failures = [];
  for (const suite of report.testResults) {
    const failed = suite.assertionResults.filter(({ status }) => status === 'failed');
    for (const test of failed) {
      const reason = (test.failureMessages[0] ?? '').split('\n')[0];
      failures.push({ file: suite.name, title: test.fullName, reason });
    }
    if (suite.status === 'failed' && failed.length === 0) {
      failures.push({ file: suite.name, title: '(the file itself)', reason: (suite.message ?? '').split('\n')[0] });
    }
  }
  return { passed: report.numPassedTests, failures };
}
