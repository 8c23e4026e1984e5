import type { WebSocket as Socket } from 'ws';
import type { TerminalControl, TerminalEnd, TerminalStart } from '../contract/index.js';
import { CliError } from './cli-error.js';
import { EXIT } from './exit-codes.js';

const STDERR_BYTE = 2;
const HELD_BYTES_MAX = 1024 * 1024;

export interface TerminalStreams {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
}

/**
 * Speaks with one command over a terminal's WebSocket and gives its exit code. With `tty` this terminal is raw, and the
 * other one takes its size; it is as before when this returns, however that is.
 */
export async function runTerminal(
  url: string,
  start: Omit<TerminalStart, 'size'>,
  streams: TerminalStreams,
): Promise<number> {
  const { WebSocket } = await import('ws');
  const socket = new WebSocket(url.replace(/^http/, 'ws'), { perMessageDeflate: false });
  const isRaw = start.tty && streams.stdin.isTTY;
  const size = sizeOf(streams.stdout);
  socket.on('open', () => {
    socket.send(JSON.stringify({ ...start, ...(start.tty && size !== undefined && { size }) }));
    if (isRaw) streams.stdin.setRawMode(true);
    passInput(socket, streams.stdin);
    if (start.tty)
      streams.stdout.on('resize', () => tell(socket, { type: 'resize', ...(sizeOf(streams.stdout) ?? size0) }));
  });
  try {
    return await untilEnd(socket, streams);
  } finally {
    if (isRaw) streams.stdin.setRawMode(false);
    streams.stdin.pause();
    socket.terminate();
  }
}

const size0 = { rows: 24, columns: 80 };
const sizeOf = ({ isTTY, rows, columns }: NodeJS.WriteStream) =>
  isTTY && rows > 0 && columns > 0 ? { rows, columns } : undefined;

const tell = (socket: Socket, control: TerminalControl): void => socket.send(JSON.stringify(control));

/** Input waits while the other side is behind. */
function passInput(socket: Socket, stdin: NodeJS.ReadStream): void {
  stdin.on('data', (data: Buffer) => {
    socket.send(data, () => {
      if (socket.bufferedAmount <= HELD_BYTES_MAX) stdin.resume();
    });
    if (socket.bufferedAmount > HELD_BYTES_MAX) stdin.pause();
  });
  stdin.on('end', () => tell(socket, { type: 'eof' }));
  stdin.resume();
}

function untilEnd(socket: Socket, { stdout, stderr }: TerminalStreams): Promise<number> {
  return new Promise((resolve, reject) => {
    const broke = (why: string): void => reject(new CliError(`the terminal broke off: ${why}`, EXIT.unreachable));
    socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) {
        const how = JSON.parse(data.toString()) as TerminalEnd;
        return 'exitCode' in how ? resolve(how.exitCode) : broke(how.error);
      }
      const stream = data[0] === STDERR_BYTE ? stderr : stdout;
      if (stream.write(data.subarray(1))) return;
      socket.pause();
      stream.once('drain', () => socket.resume());
    });
    socket.on('error', (error) => broke(error.message));
    socket.on('close', (code) => broke(`closed with ${code}`));
  });
}
