import { readFile } from 'node:fs/promises';
import { parse } from 'yaml';
import { CliError, usageError } from './cli-error.js';
import { EXIT } from './exit-codes.js';

/** The mapping of a YAML (or JSON) file; `-` is stdin. */
export async function readYamlFile(file: string): Promise<Readonly<Record<string, unknown>>> {
  let text: string;
  try {
    text = file === '-' ? await readAll(process.stdin) : await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${error instanceof Error ? error.message : ''}`, EXIT.notFound);
  }
  let content: unknown;
  try {
    content = parse(text);
  } catch (error) {
    throw usageError(`${file} is not YAML: ${error instanceof Error ? error.message : ''}`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw usageError(`${file} is not a mapping: it needs lines such as "modelName: qwen"`);
  }
  return content as Readonly<Record<string, unknown>>;
}

async function readAll(stream: AsyncIterable<Buffer | string>): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += chunk.toString();
  return text;
}
