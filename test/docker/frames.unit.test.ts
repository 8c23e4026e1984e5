import { PassThrough, Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { frames } from '../../src/docker/frames.js';
import { jsonLines } from '../../src/docker/json-lines.js';

function frame(stream: number, text: string): Buffer {
  const header = Buffer.alloc(8);
  header.writeUInt8(stream, 0);
  header.writeUInt32BE(Buffer.byteLength(text), 4);
  return Buffer.concat([header, Buffer.from(text)]);
}

const cut = (data: Buffer, size: number): Buffer[] =>
  Array.from({ length: Math.ceil(data.length / size) }, (_, part) => data.subarray(part * size, (part + 1) * size));

async function texts(source: Readable): Promise<readonly string[]> {
  const read: string[] = [];
  for await (const { stream, data } of frames(source)) read.push(`${stream} ${data.toString()}`);
  return read;
}

const whole = Buffer.concat([frame(1, 'one'), frame(2, 'zwei ü'), frame(1, ''), frame(1, 'three\n')]);
test.each([1, 2, 7, 8, 9, 1000])('frames come out whole when packets are of %i bytes', async (size) => {
  const source = Readable.from(cut(whole, size));
  expect(await texts(source)).toEqual(['stdout one', 'stderr zwei ü', 'stdout ', 'stdout three\n']);
});

test('a stream that breaks off in the middle of a frame is an error', async () => {
  await expect(texts(Readable.from([whole.subarray(0, 20)]))).rejects.toThrow('socket hang up');
});

test('aborting ends the iteration quietly and closes the source', async () => {
  const source = new PassThrough();
  const abort = new AbortController();
  source.write(frame(1, 'one'));
  const read: string[] = [];
  for await (const { data } of frames(source, abort.signal)) {
    read.push(data.toString());
    abort.abort();
  }
  expect(read).toEqual(['one']);
  expect(source.destroyed).toBe(true);
});

test('leaving the loop closes the source', async () => {
  const source = new PassThrough();
  source.write(frame(1, 'one'));
  for await (const _ of frames(source)) break;
  expect(source.destroyed).toBe(true);
});

test('a slow reader holds the writer back', async () => {
  const source = new PassThrough({ highWaterMark: 64 });
  source.write(frame(1, 'a'));
  const reader = frames(source);
  await reader.next();
  for (let part = 0; part < 4; part += 1) source.write(frame(1, 'b'.repeat(64)));
  expect(source.writableNeedDrain).toBe(true);
  await reader.return();
});

test.each([1, 3, 1000])('JSON lines come out whole when packets are of %i bytes', async (size) => {
  const data = Buffer.from('{"a":"ü€"}\r\n\n{"b":1}\n{"c":2}');
  const read: unknown[] = [];
  for await (const value of jsonLines(Readable.from(cut(data, size)))) read.push(value);
  expect(read).toEqual([{ a: 'ü€' }, { b: 1 }, { c: 2 }]);
});
