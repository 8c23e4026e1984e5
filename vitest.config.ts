import { defineConfig } from 'vitest/config';

/** One project a kind of test; the suffix of a file says its kind. `infra/test/run.mjs` runs them all. */
const project = (name: string, testTimeoutSeconds: number, maxWorkers: number) => ({
  test: {
    name,
    include: [`test/**/*.${name}.test.ts`],
    pool: 'forks' as const,
    maxWorkers,
    testTimeout: testTimeoutSeconds * 1000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
  },
});

export default defineConfig({
  test: {
    projects: [
      project('unit', 10, 2),
      project('property', 900, 2),
      project('workflow', 120, 2),
      project('integration', 120, 2),
      project('e2e', 300, 1),
      // against a real vLLM: `npm run test:vllm` alone
      project('vllm', 120, 1),
    ],
  },
});
