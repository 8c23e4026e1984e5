import type { SessionId } from '../contract/index.js';

/** Which app: a port of a session, by its name or by its number in the container. */
export interface AppName {
  readonly sessionId: SessionId;
  readonly port: string;
}

/** A DNS label has 63 characters: 26 are the session's, 2 the dashes between. */
const NAME_LENGTH_MAX = 35;
const LABEL = /^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)--([0-7][0-9a-hjkmnp-tv-z]{25})$/;

export interface NamedPort {
  readonly name: string;
  readonly containerPort: number;
}

/**
 * The origin of an app: `<port>--<session>` before the host of `appsUrl`. It belongs to the session, so the next attempt is
 * found where the last one was. A name that is too long for a label gives way to its number.
 */
export function appOrigin(appsUrl: string, sessionId: SessionId, { name, containerPort }: NamedPort): string {
  const { protocol, host } = new URL(appsUrl);
  const port = name.length <= NAME_LENGTH_MAX ? name : String(containerPort);
  return `${protocol}//${port}--${sessionId.slice('ses_'.length)}.${host}`;
}

/** The app that a Host header names; null for any other host. Ports of the header are not compared: a proxy may change them. */
export function appOfHost(appsHostname: string, hostHeader: string | undefined): AppName | null {
  const host = (hostHeader ?? '').toLowerCase().replace(/:\d+$/, '');
  if (!host.endsWith(`.${appsHostname}`)) return null;
  const [, port, id] = LABEL.exec(host.slice(0, -appsHostname.length - 1)) ?? [];
  return port === undefined ? null : { sessionId: `ses_${id}` as SessionId, port };
}

/** By name first, then by number. */
export const portNamed = <Port extends NamedPort>(ports: readonly Port[], wanted: string): Port | undefined =>
  ports.find(({ name }) => name === wanted) ?? ports.find(({ containerPort }) => String(containerPort) === wanted);
