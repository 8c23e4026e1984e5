import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as it came over the wire. */
export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}
export type Reply = (response: ServerResponse, seen: Seen) => void;

export interface ScriptedServer {
  readonly url: string;
  readonly seen: readonly Seen[];
  readonly close: () => Promise<void>;
}

/** A real HTTP server that gives the scripted replies in order; the last one is repeated. */
export async function scriptedServer(...replies: readonly Reply[]): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks).toString() };
      seen.push(one);
      (replies[seen.length - 1] ?? replies.at(-1))?.(response, one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

export const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify(body));
  };

export const problem = (status: number, code: string, more: Record<string, unknown> = {}): Reply =>
  json(status, {
    type: 't',
    title: code,
    status,
    detail: `it was ${code}`,
    instance: 'req_1',
    code,
    errors: [],
    ...more,
  });

/** The connection breaks off without an answer. */
export const hangUp: Reply = (response) => void response.socket?.destroy();

/** Sends text, then ends or breaks off. */
export const stream =
  (type: string, text: string, end: 'ends' | 'breaks' = 'ends'): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': type });
    response.write(text, () => {
      if (end === 'ends') response.end();
      else setTimeout(() => response.socket?.destroy(), 20);
    });
  };
