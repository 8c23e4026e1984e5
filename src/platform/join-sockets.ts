import type { Duplex } from 'node:stream';

/**
 * Bytes of each side go to the other as fast as it takes them; the end of one direction is passed on and leaves the other
 * open. When a side breaks, or is gone before its end, the other is cut; what it was sent before its end is still flushed.
 */
export function joinSockets(one: Duplex, other: Duplex): void {
  follow(one, other);
  follow(other, one);
  one.pipe(other);
  other.pipe(one);
}

function follow(side: Duplex, other: Duplex): void {
  side.on('error', () => other.destroy());
  side.on('close', () => {
    if (!side.readableEnded) other.destroy();
    else if (other.writableFinished) other.destroy();
    else other.once('finish', () => other.destroy());
  });
}

/** A refusal in the place of a protocol change; the connection ends with it. */
export function refuseUpgrade(socket: Duplex, { status, headers = {}, body = '' }: UpgradeRefusal): void {
  if (socket.destroyed) return;
  socket.on('error', () => undefined);
  const all = { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} Refused\r\n${lines.join('')}\r\n${body}`);
}

export interface UpgradeRefusal {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** The protocol of a raw connection through an agent's port. */
export const TUNNEL_PROTOCOL = 'berth-tcp';
