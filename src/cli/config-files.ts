import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { stateDir, stateDirPath } from '../platform/state-dir.js';
import { usageError } from './cli-error.js';

export interface Context {
  readonly url: string;
  readonly token?: string;
}
/** `~/.config/berth/config.yaml`, mode 0600. */
export interface UserConfig {
  readonly current?: string;
  readonly contexts: Readonly<Record<string, Context>>;
}
/** `./.berth.yaml`, which may be committed: it names a context or a URL, never a token. */
export interface ProjectConfig {
  readonly context?: string;
  readonly url?: string;
  readonly output?: string;
  readonly project?: string;
  readonly group?: string;
}

export function userConfigPath(env: NodeJS.ProcessEnv): string {
  return join(env['XDG_CONFIG_HOME'] || join(env['HOME'] ?? '.', '.config'), 'berth', 'config.yaml');
}

function readYaml(file: string): Readonly<Record<string, unknown>> {
  if (!existsSync(file)) return {};
  let content: unknown;
  try {
    content = parse(readFileSync(file, 'utf8')) ?? {};
  } catch (error) {
    throw usageError(`${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  if (typeof content !== 'object' || content === null || Array.isArray(content)) {
    throw usageError(`${file} is not a mapping: it needs lines such as "url: http://…"`);
  }
  return content as Readonly<Record<string, unknown>>;
}

function textOf(file: string, fields: Readonly<Record<string, unknown>>, name: string): { [key: string]: string } {
  const value = fields[name];
  if (value === undefined || value === null) return {};
  if (typeof value !== 'string') throw usageError(`${file}: "${name}" is not a text`);
  return { [name]: value };
}

export function readUserConfig(env: NodeJS.ProcessEnv): UserConfig {
  const file = userConfigPath(env);
  const fields = readYaml(file);
  const contexts = Object.entries((fields['contexts'] ?? {}) as Readonly<Record<string, Record<string, unknown>>>).map(
    ([name, context]): [string, Context] => {
      const { url = '', ...token } = { ...textOf(file, context, 'url'), ...textOf(file, context, 'token') };
      if (!URL.canParse(url)) throw usageError(`${file}: context "${name}" has no url`);
      return [name, { url, ...token }];
    },
  );
  return { ...textOf(file, fields, 'current'), contexts: Object.fromEntries(contexts) };
}

/** Readers see the old file or the new one. */
export function writeUserConfig(env: NodeJS.ProcessEnv, config: UserConfig): string {
  const file = userConfigPath(env);
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, stringify(config), { mode: 0o600 });
  chmodSync(partial, 0o600);
  renameSync(partial, file);
  return file;
}

export function readProjectConfig(cwd: string): ProjectConfig {
  const file = join(cwd, '.berth.yaml');
  const fields = readYaml(file);
  if ('token' in fields) throw usageError(`${file} holds a token: remove it and run berth login, or set BERTH_TOKEN`);
  const names = ['context', 'url', 'output', 'project', 'group'] as const;
  return Object.assign({}, ...names.map((name) => textOf(file, fields, name))) as ProjectConfig;
}

/** The Berth that `berth up` runs on this machine; undefined when there is none, or its secrets are not readable here. */
export function readLocalContext(env: NodeJS.ProcessEnv): Context | undefined {
  const state = stateDir(stateDirPath(undefined, env));
  try {
    const { ports } = readYaml(state.configFile) as { readonly ports?: { readonly api?: unknown } };
    if (typeof ports?.api !== 'number') return undefined;
    const token = readFileSync(join(state.secretsDir, 'admin-api-key'), 'utf8').trim();
    return { url: `http://127.0.0.1:${ports.api}`, token };
  } catch {
    return undefined;
  }
}
