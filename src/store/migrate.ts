import { Kysely, type Migration, Migrator, PostgresDialect, sql } from 'kysely';
import type { Database } from './database.js';
import { tenancy } from './migrations/0001-tenancy.js';
import { nodes } from './migrations/0002-nodes.js';
import { sessions } from './migrations/0003-sessions.js';
import { ledger } from './migrations/0004-ledger.js';
import { scheduling } from './migrations/0005-scheduling.js';
import { lives } from './migrations/0006-lives.js';
import { budgets } from './migrations/0007-budgets.js';
import { usage } from './migrations/0008-usage.js';
import { folders } from './migrations/0009-folders.js';
import { apps } from './migrations/0010-apps.js';
import { models } from './migrations/0011-models.js';
import { modelsUpkeep } from './migrations/0013-models-upkeep.js';
import { deployments } from './migrations/0014-deployments.js';
import { refusedReplicas } from './migrations/0015-refused-replicas.js';

const MIGRATIONS: Readonly<Record<string, string>> = {
  '0001-tenancy': tenancy,
  '0002-nodes': nodes,
  '0003-sessions': sessions,
  '0004-ledger': ledger,
  '0005-scheduling': scheduling,
  '0006-lives': lives,
  '0007-budgets': budgets,
  '0008-usage': usage,
  '0009-folders': folders,
  '0010-apps': apps,
  '0011-models': models,
  '0013-models-upkeep': modelsUpkeep,
  '0014-deployments': deployments,
  '0015-refused-replicas': refusedReplicas,
};

const migrationOf = (text: string): Migration => ({
  up: async (db: Kysely<unknown>) => {
    await sql.raw(text).execute(db);
  },
});

/** Applies what is missing, in order. Two at once wait for each other: each migration is applied once. */
export async function migrate(database: Database): Promise<void> {
  const db = new Kysely<unknown>({ dialect: new PostgresDialect({ pool: database.pool }) });
  const migrator = new Migrator({
    db,
    provider: {
      getMigrations: () =>
        Promise.resolve(
          Object.fromEntries(Object.entries(MIGRATIONS).map(([name, text]) => [name, migrationOf(text)])),
        ),
    },
  });
  const { error } = await migrator.migrateToLatest();
  if (error !== undefined) throw new Error('migrating the ledger', { cause: error });
}
