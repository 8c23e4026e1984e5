import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import type { Command } from 'commander';
import { joinSockets, TUNNEL_PROTOCOL } from '../../platform/join-sockets.js';
import type { Client } from '../../sdk/index.js';
import { CliError, usageError } from '../cli-error.js';
import { action, interruptSignal } from '../command-context.js';
import { EXIT } from '../exit-codes.js';

interface ForwardOptions {
  readonly address: string;
}

export function registerPortForward(program: Command): void {
  program
    .command('port-forward')
    .summary('reach a port of a session on this machine')
    .description(
      'Listens here and carries each connection to a port of the session, through the gateway, until Ctrl-C.',
    )
    .argument('<session>', 'name or id')
    .argument('<local:port...>', "8888:jupyter, 8080:8000, or a port's name or number alone (then any free one here)")
    .option('--address <address>', 'where it listens', '127.0.0.1')
    .action(
      action<ForwardOptions>(async ({ client, out }, { args: [session = '', ...pairs], options }) => {
        const berth = await client();
        const signal = interruptSignal();
        const wanted = pairs.map(parsePair);
        for (const { port } of wanted) await berth.apps.tunnel(session, port); // its refusal comes now, not at the first connection
        const servers: Server[] = [];
        for (const { local, port } of wanted) {
          const server = await listen({ host: options.address, port: local }, (socket) => {
            carry(berth, { session, port, socket }).catch((error: unknown) => {
              socket.destroy();
              out.say(`${port}: ${error instanceof Error ? error.message : 'the connection failed'}`);
            });
          });
          servers.push(server);
          out.line(`${options.address}:${(server.address() as AddressInfo).port} → ${session}:${port}`);
        }
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        for (const server of servers) server.close();
        process.exit(EXIT.ok); // open connections end with it
      }),
    );
}

/** `LOCAL:PORT`, or `PORT` alone. */
export function parsePair(text: string): { readonly local: number; readonly port: string } {
  const [, local, port = ''] = /^(?:(\d{1,5}):)?([a-z0-9][a-z0-9-]{0,62})$/.exec(text) ?? [];
  if (port === '' || Number(local ?? 0) > 65_535) throw usageError(`"${text}": write LOCAL:PORT, as 8888:jupyter`);
  return { local: Number(local ?? 0), port };
}

function listen(
  place: { readonly host: string; readonly port: number },
  on: (socket: Socket) => void,
): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, on);
    server.once('error', (error) => reject(new CliError(error.message, EXIT.failure, 'choose another local port')));
    server.listen(place, () => resolve(server));
  });
}

interface Connection {
  readonly session: string;
  readonly port: string;
  readonly socket: Socket;
}

/** Each connection has a ticket of its own: one that was seen somewhere is of no use. */
async function carry(berth: Client, { session, port, socket }: Connection): Promise<void> {
  socket.on('error', () => socket.destroy());
  const { url } = await berth.apps.tunnel(session, port);
  joinSockets(socket, await openTunnel(url));
}

function openTunnel(url: string): Promise<Socket> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const headers = { connection: 'Upgrade', upgrade: TUNNEL_PROTOCOL };
    const asked = request(url, { headers, agent: false });
    asked.on('error', reject);
    asked.on('response', ({ statusCode = 0 }) => {
      reject(new Error(statusCode === 502 ? 'nothing listens on it' : `the gateway answered ${statusCode}`));
      asked.destroy();
    });
    asked.on('upgrade', (_response, tunnel: Socket, head) => {
      tunnel.setTimeout(0).setNoDelay(true);
      if (head.length > 0) tunnel.unshift(head);
      resolve(tunnel);
    });
    asked.end();
  });
}
