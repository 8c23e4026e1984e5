import type { Client } from '../../sdk/index.js';

export interface DemoOptions {
  /** With an operator's key. */
  readonly admin: Client;
  /** The same Berth with another key. */
  readonly clientOf: (token: string) => Promise<Client>;
  /** Has a shell and sleep. */
  readonly image: string;
  readonly group: string;
  readonly recordFile: string | undefined;
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}
