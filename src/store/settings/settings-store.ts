import type { StoreContext } from '../context.js';
import type { SettingsStore } from '../store.js';
import { createGroups } from './groups.js';
import { createQuotas } from './quotas.js';

export const createSettingsStore = ({ db }: StoreContext): SettingsStore => ({
  ...createGroups(db),
  ...createQuotas(db),
});
