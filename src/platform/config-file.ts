import { readFileSync } from 'node:fs';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { ConfigError, simulatedGpus } from './config.js';
import { writePrivateFile } from './state-dir.js';

const configFileSchema = z.strictObject({
  version: z.literal(1),
  /** Chosen free at the first start and kept: clients and bookmarks know them. */
  ports: z.record(z.string(), z.int().min(1).max(65_535)),
  controlWorkers: z.int().min(1).max(16),
  /** Processes of the gateway, on its one port. */
  gatewayWorkers: z.int().min(1).max(64).default(1),
  node: z.strictObject({
    name: z.string().min(1).max(63),
    group: z.string().min(1).max(63),
    /** Agents of this machine, each a node with the amounts below: `name`, `name-2` … */
    count: z.int().min(1).max(16).default(1),
    cpus: z.int().positive(),
    memoryBytes: z.int().positive(),
    simulatedGpus: z.array(simulatedGpus),
  }),
});

export type ConfigFile = Readonly<z.output<typeof configFileSchema>>;

/** `config.yaml` of a state directory; undefined when there is none yet. Throws `ConfigError` naming file and field. */
export function readConfigFile(file: string): ConfigFile | undefined {
  let content: string;
  try {
    content = readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  const parsed = configFileSchema.safeParse(parse(content));
  if (parsed.success) return parsed.data;
  throw new ConfigError(parsed.error.issues.map((issue) => `${file}: ${issue.path.join('.')}: ${issue.message}`));
}

export function writeConfigFile(file: string, config: ConfigFile): void {
  writePrivateFile(file, `# Written by berth up. Its flags change what is here.\n${stringify(config)}`);
}
