import { PassThrough } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import { type TerminalEnd, type TerminalStart, terminalControlSchema, terminalStartSchema } from '../contract/index.js';
import type { Containers } from '../docker/containers.js';
import type { RunningExec } from '../docker/exec.js';
import type { OutputFrame } from '../docker/frames.js';

const STREAM_BYTE = { stdout: 1, stderr: 2 } as const;
const START_MS = 10_000;
/** So long a command that lost its client may take to see the end of its input; it is left to itself then. */
const LEAVE_MS = 1_000;
const CLOSE_DONE = 1000;
const CLOSE_INVALID = 1007;
/** Ends the input of a terminal: the engine passes no hang-up on, and a shell at its prompt leaves at this. */
const END_OF_TRANSMISSION = '\x04';

/**
 * One command in a container, spoken with over a WebSocket: the first text message says what (`TerminalStart`), binary
 * ones are input, further texts resize or end it. Output comes as fast as the other side takes it; the last message has
 * the exit code.
 */
export async function runTerminal({ exec }: Pick<Containers, 'exec'>, socket: WebSocket, name: string): Promise<void> {
  const input = new PassThrough();
  const gone = new AbortController();
  socket.on('error', () => socket.terminate());
  const running: Flow['running'] = {};
  const atEnd = new Promise<void>((resolve) => (running.atEnd = resolve));
  const started = await firstMessage(socket, (data, isBinary) => take(data, isBinary, { socket, input, running }));
  if (started === undefined) return socket.close(CLOSE_INVALID, 'the first message says what to run');
  // A terminal's input ends by the key for it: closing the stream would hang the command up before it has answered.
  void atEnd.then(() => (started.tty ? input.write(END_OF_TRANSMISSION) : input.end()));
  socket.on('close', () => {
    if (!input.writableEnded) input.end(started.tty ? END_OF_TRANSMISSION : '');
    setTimeout(() => gone.abort(), LEAVE_MS).unref();
  });
  try {
    const output = exec({ name, command: started.command, options: optionsOf(started, { input, running, gone }) });
    for await (const frame of output) {
      if (frame.stream === 'exit') return end(socket, { exitCode: frame.exitCode });
      await send(socket, frame);
    }
  } catch (error) {
    end(socket, { error: error instanceof Error ? error.message : 'failed' });
  } finally {
    input.end();
  }
}

interface Flow {
  readonly input: PassThrough;
  readonly running: { exec?: RunningExec; atEnd?: () => void };
}

function optionsOf(start: TerminalStart, { input, running, gone }: Flow & { readonly gone: AbortController }) {
  return {
    env: start.environment,
    tty: start.tty,
    stdin: input,
    signal: gone.signal,
    onStarted: (exec: RunningExec) => void (running.exec = exec),
    ...(start.size !== undefined && { size: start.size }),
    ...(start.workdir !== undefined && { workdir: start.workdir }),
  };
}

/** Undefined when it is none of ours, or none came. Those behind it, perhaps in the same packet, go to `rest`. */
function firstMessage(
  socket: WebSocket,
  rest: (data: RawData, isBinary: boolean) => void,
): Promise<TerminalStart | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(undefined), START_MS);
    socket.once('close', () => {
      clearTimeout(timer);
      resolve(undefined);
    });
    socket.once('message', (data, isBinary) => {
      clearTimeout(timer);
      socket.on('message', rest);
      resolve(isBinary ? undefined : terminalStartSchema.safeParse(parsed(data)).data);
    });
  });
}

/** Input that the command does not take yet holds the other side back. */
function take(
  data: RawData,
  isBinary: boolean,
  { socket, input, running }: Flow & { readonly socket: WebSocket },
): void {
  if (isBinary) {
    if (input.writableEnded || input.write(data) || socket.isPaused) return;
    socket.pause(); // messages of the same packet still come
    input.once('drain', () => socket.resume());
    return;
  }
  const control = terminalControlSchema.safeParse(parsed(data)).data;
  if (control?.type === 'eof') running.atEnd?.();
  if (control?.type === 'resize') void running.exec?.resize(control);
}

function send(socket: WebSocket, { stream, data }: OutputFrame): Promise<void> {
  return new Promise((resolve) => {
    socket.send(Buffer.concat([Buffer.from([STREAM_BYTE[stream]]), data]), () => resolve());
  });
}

function end(socket: WebSocket, how: TerminalEnd): void {
  socket.send(JSON.stringify(how), () => socket.close(CLOSE_DONE));
}

function parsed(data: RawData): unknown {
  try {
    return JSON.parse((data as Buffer).toString('utf8'));
  } catch {
    return undefined;
  }
}
