export interface Entry {
  /** Relative to the project. */
  readonly source: string;
  /** Relative to `dist`, without `.js`. */
  readonly output: string;
  /** Packages go inside: the command line has to start in a third of a second. */
  readonly isSelfContained?: true;
}

export const ENTRIES: readonly Entry[] = [
  { source: 'src/cli/main.ts', output: 'berth', isSelfContained: true },
  { source: 'src/sdk/index.ts', output: 'sdk' },
  { source: 'src/cli/quickstart/main.ts', output: 'quickstart' },
  { source: 'workers/control.ts', output: 'workers/control' },
  { source: 'workers/node.ts', output: 'workers/node' },
  { source: 'workers/api.ts', output: 'workers/api' },
  { source: 'workers/storage.ts', output: 'workers/storage' },
  { source: 'workers/gateway.ts', output: 'workers/gateway' },
];

export const WORKFLOWS = { source: 'workflows/index.ts', output: 'workflow-bundle.js' } as const;

/** A change anywhere in these makes a build stale. */
export const SOURCE_FOLDERS = ['src', 'workflows', 'activities', 'workers', 'infra/build'] as const;
export const SOURCE_FILES = ['package.json', 'package-lock.json', 'tsconfig.json'] as const;
