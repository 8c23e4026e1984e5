import type { Command } from 'commander';
import type { Client } from '../sdk/index.js';
import { type ProjectConfig, readProjectConfig } from './config-files.js';
import { Output, type OutputFlags, resolveFormat, type Streams } from './output.js';
import { resolveTarget, type TargetFlags } from './target.js';

export interface GlobalFlags extends TargetFlags, OutputFlags {
  /** False with `--no-input`. */
  readonly input?: boolean;
}

/** What a command works with. The SDK is loaded at the first `client()`: help and completion need none. */
export interface CommandContext {
  readonly out: Output;
  readonly project: ProjectConfig;
  readonly flags: GlobalFlags;
  readonly client: (how?: ClientUse) => Promise<Client>;
}
export interface ClientUse {
  /** Streams that may be silent for long: no limit on the pause between two chunks. */
  readonly isFollowing?: boolean;
  readonly token?: string;
}

export const PROCESS_STREAMS: Streams = {
  stdout: (text) => void process.stdout.write(text),
  stderr: (text) => void process.stderr.write(text),
};

export function openContext(flags: GlobalFlags): CommandContext {
  const project = readProjectConfig(process.cwd());
  const format = resolveFormat(flags, process.env['BERTH_OUTPUT'], project.output);
  return {
    out: new Output(PROCESS_STREAMS, { format, isQuiet: flags.quiet === true }),
    project,
    flags,
    client: (how = {}) => openClient(flags, how),
  };
}

async function openClient(flags: GlobalFlags, how: ClientUse): Promise<Client> {
  const target = resolveTarget({ ...flags, token: how.token ?? flags.token }, { env: process.env, cwd: process.cwd() });
  const [{ Client }, fetch] = await Promise.all([
    import('../sdk/index.js'),
    how.isFollowing === true ? patientFetch() : undefined,
  ]);
  return new Client({ baseUrl: target.url, token: target.token, fetch });
}

/** The built-in fetch gives a body up after 300 s of silence; a log may be silent for days. */
export async function patientFetch(): Promise<typeof globalThis.fetch> {
  const { Agent, fetch } = (await import('undici')).default; // a CommonJS package has no names in a bundle
  const dispatcher = new Agent({ headersTimeout: 0, bodyTimeout: 0 });
  return ((input: string, init?: object) =>
    fetch(input, { ...init, dispatcher })) as unknown as typeof globalThis.fetch;
}

/** What was written after a command's name. */
export interface Call<Options> {
  readonly args: readonly string[];
  readonly options: Options;
}

/** A command's action: gets its context, arguments as written, and options. */
export function action<Options = Record<string, never>>(
  run: (context: CommandContext, call: Call<Options>) => Promise<void>,
): (this: Command) => Promise<void> {
  return async function (this: Command): Promise<void> {
    const flags: GlobalFlags & Options = this.optsWithGlobals();
    await run(openContext(flags), { args: this.args, options: flags });
  };
}

/** Abort at Ctrl-C and SIGTERM. */
export function interruptSignal(): AbortSignal {
  const controller = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => controller.abort(new Interrupted()));
  return controller.signal;
}
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
}
