import { Client, Connection } from '@temporalio/client';
import { loadClientConnectConfig } from '@temporalio/envconfig';

export interface TemporalAddress {
  readonly address: string;
  readonly namespace: string;
}

/**
 * A client that connects at its first call, so that a process starts while Temporal is away. TLS and API keys come from
 * Temporal's own environment variables and profiles; address and namespace from Berth's configuration.
 */
export function connectTemporal({ address, namespace }: TemporalAddress): { client: Client; connection: Connection } {
  const profile = loadClientConnectConfig();
  const connection = Connection.lazy({ ...profile.connectionOptions, address });
  return { client: new Client({ connection, namespace }), connection };
}
