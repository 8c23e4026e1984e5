import { spawn } from 'node:child_process';

export interface Check {
  /** A program and its arguments; no shell reads them. */
  readonly command: readonly string[];
  readonly timeoutSeconds: number;
}

const SAID_CHARACTERS_MAX = 300;
/** For the rest of its output after its exit. */
const OUTPUT_MS_MAX = 500;

/**
 * Runs a check of the machine. Undefined: it passed; else what is wrong, with the last it said. It and all that it started
 * are killed when it takes too long, or when aborted. It gets the agent's environment without Berth's own variables, which hold a token.
 */
export function runCheck({ command, timeoutSeconds }: Check, signal?: AbortSignal): Promise<string | undefined> {
  const [program = '', ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: plainEnvironment() });
    let said = '';
    const hear = (data: Buffer): void => {
      said = `${said}${data.toString('utf8')}`.slice(-SAID_CHARACTERS_MAX);
    };
    child.stdout.on('data', hear);
    child.stderr.on('data', hear);
    const abort = (): void => end(`${program} was aborted`);
    const end = (fault: string | undefined): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', abort);
      if (child.pid !== undefined) killGroup(child.pid);
      resolve(fault);
    };
    const timer = setTimeout(() => end(`${program} took longer than ${timeoutSeconds} s`), timeoutSeconds * 1000);
    signal?.addEventListener('abort', abort, { once: true });
    child.once('error', (error) => end(`${program} cannot be run: ${'code' in error ? String(error.code) : 'failed'}`));
    child.once('exit', (code, endedBy) => {
      const how = code === null ? `was ended by ${endedBy ?? 'a signal'}` : `exited with ${code}`;
      const tell = (): void => end(code === 0 ? undefined : `${program} ${how}: ${lastLine(said)}`);
      // What it said comes with 'close'; something that it left behind may hold its output open, and is killed first.
      if (child.pid !== undefined) killGroup(child.pid);
      const late = setTimeout(tell, OUTPUT_MS_MAX);
      child.once('close', () => {
        clearTimeout(late);
        tell();
      });
    });
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // nothing of it is left
  }
}

const plainEnvironment = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('BERTH_')));

const lastLine = (text: string): string => text.trim().split('\n').at(-1) ?? '';
