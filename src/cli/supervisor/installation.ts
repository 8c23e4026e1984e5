import type { ConfigFile } from '../../platform/config-file.js';
import type { StateDir } from '../../platform/state-dir.js';
import { connectionUrl } from './postgres-cluster.js';
import type { Secrets } from './secrets.js';
import { portOf } from './settings.js';

/** One machine's Berth: all that its processes' environments follow from. */
export interface Installation {
  readonly state: StateDir;
  readonly config: ConfigFile;
  readonly secrets: Secrets;
  /** Version of the workflow code. */
  readonly buildId: string;
  /** The environment of the supervisor: what names existing servers, and PATH. */
  readonly env: NodeJS.ProcessEnv;
}

const unlessEmpty = (value: string | undefined): string | undefined => (value === '' ? undefined : value);

/** `DATABASE_URL`, when somebody else runs Postgres. */
export const externalDatabaseUrl = ({ env }: Installation): string | undefined => unlessEmpty(env['DATABASE_URL']);

/** `BERTH_TEMPORAL_ADDRESS`, when somebody else runs Temporal. */
export const externalTemporalAddress = ({ env }: Installation): string | undefined =>
  unlessEmpty(env['BERTH_TEMPORAL_ADDRESS']);

export const databaseUrl = (berth: Installation): string =>
  externalDatabaseUrl(berth) ?? connectionUrl(portOf(berth.config, 'postgres'), berth.secrets.postgresPassword);

export const temporalAddress = (berth: Installation): string =>
  externalTemporalAddress(berth) ?? `127.0.0.1:${portOf(berth.config, 'temporal')}`;

const local = (port: number, path = '') => `http://127.0.0.1:${port}${path}`;

/** `BERTH_APPS_URL`, where a wildcard name leads to the gateway; else names that every browser takes for this machine. */
export const appsUrl = (berth: Installation): string =>
  unlessEmpty(berth.env['BERTH_APPS_URL']) ?? `http://apps.localhost:${portOf(berth.config, 'gateway')}`;

export const urlsOf = (berth: Installation) => ({
  api: local(portOf(berth.config, 'api')),
  docs: local(portOf(berth.config, 'api'), '/docs'),
  storage: local(portOf(berth.config, 'storage')),
  gateway: local(portOf(berth.config, 'gateway')),
  ...(externalTemporalAddress(berth) === undefined ? { temporal: local(portOf(berth.config, 'temporalUi')) } : {}),
});
