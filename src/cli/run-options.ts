import { parseCount, type Written } from './amounts.js';
import { usageError } from './cli-error.js';

export interface MountOption {
  readonly folder: string;
  readonly target: string;
  readonly readOnly: boolean;
}

/** `folder:/path`, with `:ro` at the end for read-only (`:rw` says what holds anyway). */
export function parseMount({ name, text }: Written): MountOption {
  const match = /^([^:]+):(\/[^:]*)(?::(ro|rw))?$/.exec(text);
  if (match === null) throw usageError(`${name}: "${text}" is not a mount: write FOLDER:/path or FOLDER:/path:ro`);
  const [, folder = '', target = '', mode] = match;
  return { folder, target, readOnly: mode === 'ro' };
}

export interface PortOption {
  readonly name: string;
  readonly containerPort: number;
}

/** `8888`, or `notebook:8888`; a port without a name is called `port-8888`. */
export function parsePort({ name, text }: Written): PortOption {
  const match = /^(?:([a-z0-9-]+):)?(\d+)$/.exec(text);
  const containerPort = match === null ? 0 : parseCount({ name, text: match[2] ?? '' });
  if (match === null || containerPort < 1 || containerPort > 65_535) {
    throw usageError(`${name}: "${text}" is not a port of the container: write 8888 or NAME:8888 (1-65535)`);
  }
  return { name: match[1] ?? `port-${containerPort}`, containerPort };
}

/** `K=V`; `K` alone takes the value from this shell's environment. */
export function parseEnvironment(written: readonly string[], env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    written.map((text) => {
      const at = text.indexOf('=');
      const key = at === -1 ? text : text.slice(0, at);
      const value = at === -1 ? env[key] : text.slice(at + 1);
      if (key === '' || value === undefined) {
        throw usageError(`--env: "${text}" has no value: write NAME=value, or NAME for a variable that is set here`);
      }
      return [key, value];
    }),
  );
}

/** `key=value` pairs of `--label`. */
export function parseLabels(written: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    written.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw usageError(`--label: "${text}" is not a label: write key=value`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
