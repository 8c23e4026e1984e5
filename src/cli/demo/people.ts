import type { Client } from '../../sdk/index.js';
import type { DemoOptions } from './demo-options.js';

export interface Person {
  readonly name: string;
  /** The first is where its sessions count. */
  readonly projects: readonly string[];
}
export interface People {
  readonly domain: string;
  readonly clients: Readonly<Record<string, Client>>;
  /** Revokes the keys. Users and projects stay, and a second run uses them again. */
  readonly leave: () => Promise<void>;
}

/** A thing that is there already is as good as one that was made. */
async function ensure(make: Promise<unknown>): Promise<void> {
  try {
    await make;
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'conflict')) throw error;
  }
}

/** Makes projects, users, memberships and a key each, good for a day. */
export async function bringPeople(
  options: Pick<DemoOptions, 'admin' | 'clientOf'>,
  persons: readonly Person[],
): Promise<People> {
  const { admin } = options;
  const { domain } = await admin.me();
  for (const name of new Set(persons.flatMap(({ projects }) => projects))) {
    await ensure(admin.projects.create({ name, domain }));
  }
  const keyIds: string[] = [];
  const leave = async (): Promise<void> => {
    for (const id of keyIds.splice(0)) await admin.keys.revoke(id);
  };
  const clients: Record<string, Client> = {};
  for (const { name, projects } of persons) {
    await ensure(admin.users.create({ name, domain, role: 'user', projects: [...projects] }));
    for (const project of projects) await admin.projects.putMember({ domain, project, user: name });
    const key = await admin.keys.create({ name: `demo-${Date.now().toString(36)}`, user: name, expiresInDays: 1 });
    keyIds.push(key.id);
    clients[name] = await options.clientOf(key.secret);
  }
  return { domain, clients, leave };
}
