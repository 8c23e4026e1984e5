import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import type { LaunchOrder } from '../../src/contract/index.js';
import { eventually } from '../support/process.js';
import { startTestNode, type TestAgent, type TestNode } from './support/agent-fixture.js';

let here: TestNode;
let started: TestAgent;
let order: LaunchOrder;
beforeAll(async () => {
  here = await startTestNode();
  started = await here.startAgent();
  const serve = 'mkdir -p /www && echo hello > /www/index.html && exec httpd -f -p 8000 -h /www';
  order = here.order({ command: ['sh', '-c', serve], ports: [{ name: 'http', containerPort: 8000 }] });
  await started.start([order]);
});
afterAll(() => here?.close());

const token = (claims: object): Promise<string> =>
  here.signer.sign({
    audience: `node/${here.node}`,
    seconds: 60,
    claims: { kernelId: order.kernelId, attempt: 1, ...claims },
  });

async function tunnel(containerPort: number, claims: object): Promise<number | Socket> {
  const headers = { connection: 'Upgrade', upgrade: 'berth-tcp', authorization: `Bearer ${await token(claims)}` };
  const path = `/v1/kernels/${order.kernelId}/1/ports/${containerPort}`;
  const asked = request({ host: '127.0.0.1', port: started.agent.port, path, headers, agent: false }).end();
  return new Promise((resolve, reject) => {
    asked.on('error', reject);
    asked.on('response', (response: IncomingMessage) => resolve(response.resume().statusCode ?? 0));
    asked.on('upgrade', (_response, socket: Socket) => resolve(socket));
  });
}

test('a connection to a port of a kernel goes through the agent, under a token for that port alone', async () => {
  const port = { operation: 'port', containerPort: 8000 };
  await eventually('it listens', async () => (await tunnel(8000, port)) !== 502);
  const socket = await tunnel(8000, port);
  if (typeof socket === 'number') throw new Error(`refused with ${socket}`);
  socket.end('GET /index.html HTTP/1.0\r\n\r\n'); // our end is passed on, and the answer still comes
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  expect(text).toMatch(/200 OK[\s\S]*hello\n$/);
  const refused = [
    { operation: 'port', containerPort: 8001 },
    { operation: 'port' },
    { operation: 'exec' },
    { ...port, attempt: 2 },
  ];
  for (const claims of refused) expect(await tunnel(8000, claims)).toBe(401);
  expect(await tunnel(8001, { operation: 'port', containerPort: 8001 })).toBe(502);
});

async function terminal(start: object, claims: object = { operation: 'terminal' }): Promise<WebSocket> {
  const url = `ws://127.0.0.1:${started.agent.port}/v1/kernels/${order.kernelId}/1/terminal`;
  const socket = new WebSocket(url, { headers: { authorization: `Bearer ${await token(claims)}` } });
  socket.on('open', () => socket.send(JSON.stringify(start)));
  return socket;
}

interface Heard {
  stdout: string;
  stderr: string;
  end?: unknown;
}
function listen(socket: WebSocket): Heard {
  const heard: Heard = { stdout: '', stderr: '' };
  socket.on('message', (data: Buffer, isBinary) => {
    if (!isBinary) heard.end = JSON.parse(data.toString());
    else heard[data[0] === 2 ? 'stderr' : 'stdout'] += data.subarray(1).toString();
  });
  return heard;
}

test('a terminal has the size that was asked for, takes another, and says the exit code at its end', async () => {
  const socket = await terminal({
    command: ['sh'],
    tty: true,
    size: { rows: 33, columns: 99 },
    environment: { X: 'y' },
  });
  const heard = listen(socket);
  await once(socket, 'open');
  socket.send(Buffer.from('stty size; echo $X\n'));
  await eventually('its size', () => /33 99\r\ny\r\n/.test(heard.stdout));
  socket.send(JSON.stringify({ type: 'resize', rows: 10, columns: 20 }));
  socket.send(Buffer.from('sleep 0.2; stty size; exit 7\n'));
  expect((await once(socket, 'close'))[0]).toBe(1000);
  expect(heard.stdout).toContain('10 20\r\n');
  expect(heard.end).toEqual({ exitCode: 7 });
});

test('without a terminal both streams stay apart, input comes in order and its end is passed on', async () => {
  const socket = await terminal({ command: ['sh', '-c', 'cat; echo bad >&2'], tty: false });
  const heard = listen(socket);
  await once(socket, 'open');
  const parts = Array.from({ length: 200 }, (_, index) => `${index}:${'x'.repeat(1_000)}\n`);
  for (const part of parts) socket.send(Buffer.from(part)); // the first ones come with the message that starts it
  socket.send(JSON.stringify({ type: 'eof' }));
  await once(socket, 'close');
  expect(heard).toEqual({ stdout: parts.join(''), stderr: 'bad\n', end: { exitCode: 0 } });
});

test('input that ends at once hangs no command of a terminal up', async () => {
  const socket = await terminal({ command: ['sh', '-c', 'sleep 0.3; echo said; exit 3'], tty: true });
  const heard = listen(socket);
  await once(socket, 'open');
  socket.send(JSON.stringify({ type: 'eof' }));
  await once(socket, 'close');
  expect(heard.stdout).toContain('said');
  expect(heard.end).toEqual({ exitCode: 3 });
});

test('a shell at its prompt leaves when its client goes', async () => {
  const socket = await terminal({ command: ['sh', '-c', 'echo $$ > /tmp/shell; exec sh'], tty: true });
  const heard = listen(socket);
  await eventually('a prompt', () => heard.stdout.includes('# '));
  socket.terminate();
  const isThere = async (): Promise<boolean> => {
    const asked = await terminal({ command: ['sh', '-c', 'kill -0 $(cat /tmp/shell)'], tty: false });
    const answer = listen(asked);
    await once(asked, 'close');
    return JSON.stringify(answer.end) === '{"exitCode":0}';
  };
  await eventually('it is gone', async () => !(await isThere()));
});

test('a terminal needs a token for it, and a first message that says what to run', async () => {
  const refused = await terminal({}, { operation: 'exec' });
  refused.on('error', () => undefined);
  const [, answer] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage];
  expect(answer.statusCode).toBe(401);
  refused.terminate();
  const strange = await terminal({ command: [] });
  expect((await once(strange, 'close'))[0]).toBe(1007);
});
