import { EXIT } from './exit-codes.js';

/** The command cannot go on. `message` is one line for a person, `hint` a command that helps. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;
  readonly hint: string | undefined;
  constructor(message: string, exitCode: number = EXIT.failure, hint?: string) {
    super(message);
    this.exitCode = exitCode;
    this.hint = hint;
  }
}

/** The command line is not valid: names the option and the mend. */
export const usageError = (message: string, hint?: string): CliError => new CliError(message, EXIT.usage, hint);

/** Ends the program with a workload's own code; nothing is printed. */
export class ExitWith extends Error {
  override readonly name = 'ExitWith';
  readonly exitCode: number;
  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}
