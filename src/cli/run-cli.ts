import type { Command } from 'commander';
import { PROCESS_STREAMS } from './command-context.js';
import type { OutputFlags } from './output.js';
import { createProgram } from './program.js';
import { reportError } from './report-error.js';

/** Runs one command line and gives its exit code. `argv` is without node and program. */
export async function runCli(argv: readonly string[]): Promise<number> {
  const program = createProgram();
  try {
    if (argv[0] === 'completion' || argv[0] === 'complete' || isHelp(argv)) {
      const { addCompletion } = await import('./completion.js');
      await addCompletion(program, argv);
    }
    await program.parseAsync(argv, { from: 'user' });
    return Number(process.exitCode ?? 0);
  } catch (error) {
    return told(error, program, argv);
  }
}

const isHelp = ([first]: readonly string[]): boolean => first === undefined || first === '--help' || first === '-h';

function told(error: unknown, program: Command, argv: readonly string[]): number {
  const { exitCode, text, problem } = reportError(error);
  if (text === '' || problem === undefined) return exitCode;
  PROCESS_STREAMS.stderr(wantsJson(program.opts(), argv) ? `${JSON.stringify(problem)}\n` : `${text}\n`);
  return exitCode;
}

/** Also when the command line could not be read to its end. */
function wantsJson(flags: OutputFlags, argv: readonly string[]): boolean {
  const isAsked = argv.some(
    (word, at) => word === '--json' || word === '-ojson' || (word === 'json' && isOutput(argv[at - 1])),
  );
  return flags.json === true || flags.output === 'json' || isAsked;
}
const isOutput = (word: string | undefined): boolean => word === '-o' || word === '--output';
