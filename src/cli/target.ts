import { CliError, usageError } from './cli-error.js';
import {
  type Context,
  type ProjectConfig,
  readLocalContext,
  readProjectConfig,
  readUserConfig,
} from './config-files.js';
import { EXIT } from './exit-codes.js';

export interface TargetFlags {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
  readonly context?: string | undefined;
}
export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}
export interface Target {
  readonly url: string;
  readonly token: string;
}

/** Name of the context of this machine's own Berth. */
export const LOCAL_CONTEXT = 'local';

/**
 * Which API, with which key: flag, then BERTH_URL and BERTH_TOKEN, then ./.berth.yaml, then the current context of
 * ~/.config/berth/config.yaml, then the Berth of this machine (before the contexts when BERTH_STATE names it).
 * A key is sent only to the URL that it was saved for.
 */
export function resolveTarget(flags: TargetFlags, around: Surroundings): Target {
  const { env, cwd } = around;
  const project = readProjectConfig(cwd);
  const url = flags.url ?? nonEmpty(env['BERTH_URL']) ?? (flags.context === undefined ? project.url : undefined);
  const context = url === undefined ? contextOf(flags, { project, env }) : contextOfUrl(url, env);
  const token = flags.token ?? nonEmpty(env['BERTH_TOKEN']) ?? context?.token;
  const found = url ?? context?.url;
  if (found === undefined) {
    throw new CliError('no Berth is known here', EXIT.denied, 'berth login URL, or berth up for one on this machine');
  }
  if (!/^https?:$/.test(URL.canParse(found) ? new URL(found).protocol : '')) {
    throw usageError(`"${found}" is not a URL of Berth: write http://host:port`);
  }
  if (token === undefined) throw new CliError(`no API key for ${found}`, EXIT.denied, `berth login ${found}`);
  return { url: found, token };
}

const nonEmpty = (text: string | undefined): string | undefined => (text === '' ? undefined : text);

interface Where {
  readonly project: ProjectConfig;
  readonly env: NodeJS.ProcessEnv;
}

function contextOf(flags: TargetFlags, { project, env }: Where): Context | undefined {
  const user = readUserConfig(env);
  const name = flags.context ?? project.context;
  if (name !== undefined) {
    const found = user.contexts[name] ?? (name === LOCAL_CONTEXT ? readLocalContext(env) : undefined);
    if (found !== undefined) return found;
    const known = Object.keys(user.contexts).join(', ') || 'none';
    throw usageError(`there is no context "${name}" (known: ${known})`, 'berth login URL --context NAME');
  }
  const chosen = user.current === undefined ? undefined : user.contexts[user.current];
  const isLocalNamed = nonEmpty(env['BERTH_STATE']) !== undefined;
  return isLocalNamed ? (readLocalContext(env) ?? chosen) : (chosen ?? readLocalContext(env));
}

function contextOfUrl(url: string, env: NodeJS.ProcessEnv): Context | undefined {
  const all = [...Object.values(readUserConfig(env).contexts), readLocalContext(env)];
  const plain = (text: string): string => text.replace(/\/+$/, '');
  return all.find((context) => context !== undefined && plain(context.url) === plain(url));
}
