import type { StoreContext } from '../context.js';
import type { TenancyStore } from '../store.js';
import { bootstrap } from './bootstrap.js';
import { createKeys } from './keys.js';
import { createPeople } from './people.js';
import { authenticate, principalOf } from './principal.js';

export const createTenancyStore = ({ db }: StoreContext): TenancyStore => ({
  ...createPeople(db),
  ...createKeys(db),
  authenticate: (hash) => authenticate(db, hash),
  principalOf: (userName) => principalOf(db, userName),
  bootstrap: (first) => db.transaction((tx) => bootstrap(tx, first)),
});
