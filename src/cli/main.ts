#!/usr/bin/env node
import { isMainThread } from 'node:worker_threads';
import { runCli } from './run-cli.js';

/** A reader that went away (`berth logs | head`) is no error. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

if (isMainThread) {
  const exitCode = await runCli(process.argv.slice(2));
  // Output to a pipe may be on its way still: it ends before the exit, open connections do not hold it up.
  process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
}
