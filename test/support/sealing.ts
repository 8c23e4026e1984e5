import { randomBytes } from 'node:crypto';
import type { ControlDependencies } from '../../activities/control/dependencies.js';
import { createPrometheus } from '../../src/platform/prometheus.js';
import { createSeal } from '../../src/platform/seal.js';

const seal = createSeal(randomBytes(32));

/** What control activities are handed beside store and door: a real seal, and no Prometheus. */
export const sealing: Pick<ControlDependencies, 'seal' | 'sealApiKey' | 'prometheus'> = {
  seal,
  sealApiKey: (id) => seal.seal(`key of ${id}`, id),
  prometheus: createPrometheus({ url: undefined }),
};
