import { readFile } from 'node:fs/promises';
import { basename, dirname, extname, resolve } from 'node:path';
import { parse } from 'yaml';
import {
  type Generator,
  generatorSchema,
  type SimulationCluster,
  type SimulationPolicy,
  simulationClusterSchema,
  simulationPolicySchema,
} from '../../contract/simulation.js';
import { CliError, usageError } from '../cli-error.js';
import { EXIT } from '../exit-codes.js';

type Fields = Readonly<Record<string, unknown>>;
/** Files that extend one another. */
const CHAIN_MAX = 20;

export const readPolicy = async (file: string): Promise<SimulationPolicy & { readonly name: string }> => {
  const parsed = check(simulationPolicySchema, await readExtended(file), file);
  return { ...parsed, name: parsed.name ?? basename(file, extname(file)) };
};

export const readCluster = async (file: string): Promise<SimulationCluster> =>
  check(simulationClusterSchema, await readExtended(file), file);

export const readGenerator = async (file: string): Promise<Generator> =>
  check(generatorSchema, await readExtended(file), file);

export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new CliError(`${file} cannot be read: ${messageOf(error)}`, EXIT.notFound);
  }
}

/** A file of settings with those that it extends below it: objects are merged, lists and values replaced. The name is not inherited. */
async function readExtended(file: string, above: readonly string[] = []): Promise<Fields> {
  const path = resolve(file);
  if (above.includes(path)) throw usageError(`${file} extends itself, by way of ${above.length} files`);
  if (above.length > CHAIN_MAX) throw usageError(`${file}: more than ${CHAIN_MAX} files extend one another`);
  const { extends: base, ...own } = fieldsOf(await readText(file), file);
  if (base === undefined) return own;
  if (typeof base !== 'string') throw usageError(`${file}: extends: a file name is needed`);
  const { name: _name, ...inherited } = await readExtended(resolve(dirname(path), base), [...above, path]);
  return merge(inherited, own);
}

function fieldsOf(text: string, file: string): Fields {
  let content: unknown;
  try {
    content = parse(text) ?? {};
  } catch (error) {
    throw usageError(`${file} is not YAML: ${messageOf(error)}`);
  }
  if (!isFields(content)) throw usageError(`${file} is not a mapping: it needs lines such as "name: fifo"`);
  return content;
}

function merge(below: Fields, above: Fields): Fields {
  const merged: Record<string, unknown> = { ...below };
  for (const [name, value] of Object.entries(above)) {
    const under = merged[name];
    merged[name] = isFields(under) && isFields(value) ? merge(under, value) : value;
  }
  return merged;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

interface Parser<Value> {
  readonly safeParse: (
    value: unknown,
  ) =>
    | { readonly success: true; readonly data: Value }
    | { readonly success: false; readonly error: { readonly issues: readonly Issue[] } };
}
interface Issue {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

function check<Value>(schema: Parser<Value>, fields: Fields, file: string): Value {
  const parsed = schema.safeParse(fields);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(
    ({ path, message }) => `${path.map(String).join('.') || 'the file'}: ${message}`,
  );
  throw usageError(`${file}: ${wrong.slice(0, 10).join('; ')}`);
}
