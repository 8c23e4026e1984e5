import type { Readable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { chunks } from './frames.js';

/** One JSON value a line, as the engine sends events and progress. A character cut by two packets stays whole. */
export async function* jsonLines(source: Readable, signal?: AbortSignal): AsyncGenerator<unknown, void> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  for await (const chunk of chunks(source, signal)) {
    const lines = (rest + decoder.write(chunk)).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield JSON.parse(line) as unknown;
  }
  if (rest.trim() !== '' && signal?.aborted !== true) yield JSON.parse(rest) as unknown;
}
