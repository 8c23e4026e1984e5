import { CommanderError } from 'commander';
import { CliError, ExitWith } from './cli-error.js';
import { EXIT, exitCodeOfProblem } from './exit-codes.js';

/** What is told of an error, and how the program ends. */
export interface ErrorReport {
  readonly exitCode: number;
  /** For people, without a line's end; empty when there is nothing to tell. */
  readonly text: string;
  /** For `-o json`: a problem object. */
  readonly problem: Readonly<Record<string, unknown>> | undefined;
}

interface ProblemLike {
  readonly problem: {
    readonly code: string;
    readonly status: number;
    readonly detail: string;
    readonly instance: string;
    readonly errors: readonly { readonly pointer: string; readonly message: string }[];
    readonly hint?: string;
  };
}

/** The SDK's classes are told by their fields: loading it here would slow every start. */
const isProblem = (error: Error): error is Error & ProblemLike => 'problem' in error && 'requestId' in error;

const CODES: Readonly<Record<number, string>> = {
  [EXIT.usage]: 'invalid_request',
  [EXIT.notFound]: 'not_found',
  [EXIT.denied]: 'unauthenticated',
  [EXIT.conflict]: 'conflict',
  [EXIT.refused]: 'never_fits',
  [EXIT.unreachable]: 'unavailable',
};

export function reportError(error: unknown): ErrorReport {
  if (error instanceof ExitWith) return { exitCode: error.exitCode, text: '', problem: undefined };
  if (error instanceof CommanderError) return ofCommander(error);
  if (!(error instanceof Error)) return own(String(error), EXIT.failure);
  if (isProblem(error)) return ofProblem(error);
  if (error instanceof CliError) return own(error.message, error.exitCode, error.hint);
  if (error.name === 'ConnectionError') return own(error.message, EXIT.unreachable, 'berth status');
  if (error.name === 'WaitTimeoutError') return own(error.message, EXIT.timeout);
  if (error.name === 'Interrupted') return { exitCode: EXIT.interrupted, text: '', problem: undefined };
  return own(error.message, EXIT.failure);
}

function own(detail: string, exitCode: number, hint?: string): ErrorReport {
  const code = CODES[exitCode] ?? 'internal';
  const problem = { type: 'about:blank', title: 'berth stopped', code, detail, errors: [], ...(hint ? { hint } : {}) };
  return { exitCode, text: textOf(detail, [], hint), problem };
}

/** Help and version are no errors: commander has written them. */
function ofCommander(error: CommanderError): ErrorReport {
  if (error.exitCode === 0) return { exitCode: EXIT.ok, text: '', problem: undefined };
  if (error.code === 'commander.help') return { exitCode: EXIT.usage, text: '', problem: undefined };
  return own(error.message.replace(/^error: /, ''), EXIT.usage);
}

function ofProblem({ problem }: ProblemLike): ErrorReport {
  const [only, ...others] = problem.errors;
  const isToldAlready = only !== undefined && others.length === 0 && problem.detail.endsWith(only.message);
  const listed = isToldAlready ? [] : problem.errors;
  const pointers = listed.map(({ pointer, message }) => `${pointer || 'the request'}: ${message}`);
  const request = problem.status >= 500 && problem.instance !== '' ? [`request ${problem.instance}`] : [];
  const text = textOf(problem.detail, [...pointers, ...request], problem.hint);
  return { exitCode: exitCodeOfProblem(problem), text, problem };
}

function textOf(detail: string, more: readonly string[], hint: string | undefined): string {
  return [`error: ${detail}`, ...more.map((line) => `  ${line}`), ...(hint ? [`hint: ${hint}`] : [])].join('\n');
}
