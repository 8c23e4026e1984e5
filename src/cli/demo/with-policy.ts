import type { Client } from '../../sdk/index.js';
import type { DemoOptions } from './demo-options.js';

type Policy = NonNullable<Parameters<Client['groups']['patch']>[1]['policy']>;

/** Gives the group this policy while `work` runs, and what it had before afterwards, whatever happens. */
export async function withPolicy(
  { admin, group }: Pick<DemoOptions, 'admin' | 'group'>,
  change: Policy,
  work: () => Promise<void>,
): Promise<void> {
  const { policy } = await admin.groups.get(group);
  const kept = Object.fromEntries(Object.keys(change).map((field) => [field, policy[field as keyof typeof policy]]));
  const set = async (wanted: Policy): Promise<void> => {
    const { etag } = await admin.groups.get(group);
    await admin.groups.patch(group, { policy: wanted }, { ifMatch: etag });
  };
  await set(change);
  try {
    await work();
  } finally {
    await set(kept);
  }
}
