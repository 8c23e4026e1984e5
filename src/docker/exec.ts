import type { Duplex, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type Docker from 'dockerode';
import { asFailure, classify } from './failures.js';
import { frames, type OutputFrame, rawFrames } from './frames.js';

export interface ExecOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  /** A terminal: one stream, called stdout. */
  readonly tty?: boolean;
  /** Its end is passed on as end of input. */
  readonly stdin?: Readable;
  /** Of the terminal, in characters. */
  readonly size?: TerminalSide;
  /** Called once the engine has begun it. */
  readonly onStarted?: (running: RunningExec) => void;
  /** Ends the iteration. The engine knows no way to end the command itself: it runs on until its input or it ends. */
  readonly signal?: AbortSignal;
}

export interface TerminalSide {
  readonly rows: number;
  readonly columns: number;
}

export interface RunningExec {
  /** Of a terminal. One that has ended is left as it is. */
  readonly resize: (size: TerminalSide) => Promise<void>;
}

/** Always the last one; none comes when the iteration was aborted. 126 and 127: the command could not be run. */
export interface ExitFrame {
  readonly stream: 'exit';
  readonly exitCode: number;
}

export interface ExecCall {
  readonly name: string;
  readonly command: readonly string[];
  readonly options?: ExecOptions;
}

/** Runs a command in a running container, without capabilities it does not have itself. A second call runs it again. */
export async function* exec(docker: Docker, call: ExecCall): AsyncGenerator<OutputFrame | ExitFrame, void> {
  const options = call.options ?? {};
  const secrets = Object.values(options.env ?? {});
  const run = await asFailure(() => create(docker, call, options), secrets);
  const source = await asFailure(() => start(run, options), secrets);
  const resize: RunningExec['resize'] = ({ rows, columns }) =>
    run.resize({ h: rows, w: columns }).catch(() => undefined);
  if (options.tty && options.size) await resize(options.size);
  options.onStarted?.({ resize });
  const input = options.stdin && feed(options.stdin, source, options.signal);
  try {
    yield* options.tty ? rawFrames(source, options.signal) : frames(source, options.signal);
    if (options.signal?.aborted) return;
    const { ExitCode } = await run.inspect();
    yield { stream: 'exit', exitCode: ExitCode ?? -1 };
  } catch (error) {
    throw classify(error, secrets);
  } finally {
    source.destroy();
    await input;
  }
}

function create(docker: Docker, { name, command }: ExecCall, options: ExecOptions): Promise<Docker.Exec> {
  return docker.getContainer(name).exec({
    Cmd: [...command],
    AttachStdout: true,
    AttachStderr: true,
    AttachStdin: options.stdin !== undefined,
    Tty: options.tty ?? false,
    Env: Object.entries(options.env ?? {}).map(([variable, value]) => `${variable}=${value}`),
    ...(options.workdir !== undefined && { WorkingDir: options.workdir }),
  });
}

/**
 * Always hijacked: dockerode's other stream closes the whole connection at the end of input, and the rest of the
 * output with it; a raw socket can be closed in one direction.
 */
function start(run: Docker.Exec, options: ExecOptions): Promise<Duplex> {
  return run.start({ hijack: true, stdin: options.stdin !== undefined, Tty: options.tty ?? false });
}

/** Never rejects: a command that ends before its input does breaks the pipe, and that is no failure. */
async function feed(stdin: Readable, sink: Duplex, signal: AbortSignal | undefined): Promise<void> {
  sink.once('close', () => void stdin.destroy());
  await pipeline(stdin, sink, { end: true, ...(signal && { signal }) }).catch(() => undefined);
}
