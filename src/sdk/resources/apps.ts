import type { BodyOf, CallOptions } from '../operations.js';
import type { Transport } from '../transport.js';

/** `session` is an id or a name, `port` a port's name or its number in the container. */
export interface AppPlace {
  readonly session: string;
  readonly port: string;
}

export const appsOf = (transport: Transport) => ({
  /** Its named ports, with the origin of each and who may open it. */
  list: async (session: string, options?: CallOptions) =>
    (await transport.call('listApps', { params: { session } }, options)).items,

  /** A URL that opens the app once, within a minute. */
  open: ({ session, port }: AppPlace, how: BodyOf<'openApp'> = {}, options?: CallOptions) =>
    transport.call('openApp', { params: { session, port }, body: how }, options),

  /** Who may open it. A link is shown in this answer alone. */
  share: ({ session, port }: AppPlace, how: BodyOf<'shareApp'>, options?: CallOptions) =>
    transport.call('shareApp', { params: { session, port }, body: how }, options),

  /** A WebSocket URL, written as http, for one command with a terminal; the first message says what to run. */
  terminal: (session: string, where: BodyOf<'openTerminal'> = {}, options?: CallOptions) =>
    transport.call('openTerminal', { params: { session }, body: where }, options),

  /** A URL for one TCP connection: a GET of it with `Upgrade: berth-tcp`. */
  tunnel: (session: string, port: string, options?: CallOptions) =>
    transport.call('openTunnel', { params: { session, port }, body: {} }, options),
});
