import { spawn } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, open, rename, stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { finished, pipeline } from 'node:stream/promises';

/** The floor: bytes over HTTP with the same syncs, and nothing else. `node bare-storage.ts DIRECTORY PORT`. */
const [directory = '', port = '0'] = process.argv.slice(2);

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync().finally(() => handle.close());
}

async function put(request: IncomingMessage, file: string): Promise<void> {
  await pipeline(request, createWriteStream(`${file}.part`));
  await sync(`${file}.part`);
  await rename(`${file}.part`, file);
  await sync(directory);
}

/** As `tar | ssh host tar x && sync`. */
async function untar(request: IncomingMessage, target: string): Promise<void> {
  await mkdir(target, { recursive: true });
  const tar = spawn('tar', ['x', '-C', target], { stdio: ['pipe', 'ignore', 'inherit'] });
  const ended = new Promise((resolve) => tar.once('exit', resolve));
  await pipeline(request, tar.stdin);
  await ended;
  const flush = spawn('sync', ['-f', target], { stdio: 'ignore' });
  await new Promise((resolve) => flush.once('exit', resolve));
}

async function get(response: ServerResponse, file: string): Promise<void> {
  response.setHeader('content-length', (await stat(file)).size);
  createReadStream(file).pipe(response);
  await finished(response);
}

createServer((request, response) => {
  const file = join(directory, (request.url ?? '').slice(1));
  const work = { PUT: () => put(request, file), POST: () => untar(request, file), GET: () => get(response, file) };
  const done = work[request.method as keyof typeof work]();
  done.then(
    () => response.writableEnded || response.end(),
    () => response.destroy(),
  );
}).listen(Number(port), '127.0.0.1');
