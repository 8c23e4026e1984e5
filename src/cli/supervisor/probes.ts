import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { accepts } from './ports.js';

const execute = promisify(execFile);

/** True when the URL answers 2xx within two seconds. */
export async function answersHttp(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.ok;
  } catch {
    return false;
  }
}

export const healthUrl = (port: number): string => `http://127.0.0.1:${port}/healthz`;

function hostAndPort(address: string): [host: string, port: number] {
  const at = address.lastIndexOf(':');
  return [address.slice(0, at), Number(address.slice(at + 1))];
}

/** Runs Temporal's own command line against a server; resolves with its output, rejects with its complaint. */
export async function temporalCli(program: string, address: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, [...args, '--address', address], { timeout: 20_000 });
  return stdout;
}

/** True when the front end serves the namespace; without the program it is asked for a connection only. */
export async function temporalServes(program: string | undefined, address: string): Promise<boolean> {
  const [host, port] = hostAndPort(address);
  if (!(await accepts(host, port))) return false;
  if (program === undefined) return true;
  try {
    await temporalCli(program, address, ['operator', 'namespace', 'describe', '--namespace', 'default']);
    return true;
  } catch {
    return false;
  }
}

/** True when a server listens at the URL's host and port. */
export async function databaseListens(url: string): Promise<boolean> {
  const { hostname, port } = new URL(url);
  return accepts(hostname, port === '' ? 5432 : Number(port));
}
