import { execFile } from 'node:child_process';

export interface Answer {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end, without a shell. An exit code other than 0 is an answer, not an error. */
export type Run = (program: string, args: readonly string[]) => Promise<Answer | 'no-such-program'>;

/** nvidia-smi takes seconds on a machine of many GPUs, and hangs on a broken driver. */
const TIMEOUT_MILLISECONDS = 30_000;
const OUTPUT_BYTES_MAX = 16 * 1024 * 1024;
/** What shells answer for a program that was ended from outside. */
const ENDED_EXIT_CODE = 124;

export const runProgram: Run = (program, args) =>
  new Promise((resolve) => {
    const limits = { timeout: TIMEOUT_MILLISECONDS, maxBuffer: OUTPUT_BYTES_MAX, killSignal: 'SIGKILL' as const };
    execFile(program, [...args], { ...limits, encoding: 'utf8' }, (error, stdout, stderr) => {
      if (error?.code === 'ENOENT') return resolve('no-such-program');
      const exitCode = error === null ? 0 : typeof error.code === 'number' ? error.code : ENDED_EXIT_CODE;
      resolve({ exitCode, stdout, stderr });
    });
  });
