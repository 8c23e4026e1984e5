import { readFileSync } from 'node:fs';
import type { Answer, Run } from '../../src/devices/run-program.js';

/**
 * A runner that answers as a recording says; a question to nvidia-smi that was not recorded fails the test, and a kernel's
 * log that was not is one that nobody may read.
 */
export function recorded(file: string): Run {
  const answers = parse(readFileSync(new URL(`./recordings/${file}.txt`, import.meta.url), 'utf8'));
  return async (program, args) => {
    const answer = answers.get([program, ...args].join(' '));
    if (answer === undefined && program === 'dmesg') return 'no-such-program';
    if (answer === undefined) throw new Error(`${file} has no answer to: ${program} ${args.join(' ')}`);
    return answer;
  };
}

/** `# note`, then for each question `$ command`, its output, and `[exit n]`. */
function parse(text: string): ReadonlyMap<string, Answer> {
  const sections = text.matchAll(/^\$ (.+)\n([\s\S]*?)^\[exit (\d+)\]$/gm);
  return new Map(
    [...sections].map(([, command = '', stdout = '', code]) => [
      command,
      { stdout, stderr: '', exitCode: Number(code) },
    ]),
  );
}
