import { readFile } from 'node:fs/promises';
import { CliError, usageError } from './cli-error.js';
import { EXIT } from './exit-codes.js';

/** `-` is stdin. `from` tells where such a file comes from. */
export async function readJsonFile(file: string, from?: string): Promise<unknown> {
  let text: string;
  try {
    text = file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`, EXIT.notFound);
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw usageError(`${file} is not JSON: ${error instanceof Error ? error.message : ''}`, from);
  }
}

async function readAll(stream: AsyncIterable<Buffer | string>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.toString();
  return text;
}
