import type { BodyOf } from '../sdk/index.js';
import { parseBytes, parseCount, parseCpu } from './amounts.js';
import { usageError } from './cli-error.js';

type Wish = BodyOf<'applyDeployment'>;
type Fields = Readonly<Record<string, unknown>>;

export interface NamedWish {
  readonly name: string;
  readonly wish: Wish;
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** As people write amounts, and the field of the API that each is: `cpu: 4`, `memory: 16Gi`, `gpus: 1`, `gpuMemory: 8Gi`. */
const AMOUNTS: Readonly<Record<string, readonly [field: string, parse: (text: string) => number]>> = {
  cpu: ['cpuMilli', (text) => parseCpu({ name: 'slots.cpu', text })],
  memory: ['memoryBytes', (text) => parseBytes({ name: 'slots.memory', text })],
  gpus: ['gpuCount', (text) => parseCount({ name: 'slots.gpus', text })],
  gpuMemory: ['gpuMemoryBytes', (text) => parseBytes({ name: 'slots.gpuMemory', text })],
};

const slotsOf = (slots: Fields): Fields =>
  Object.fromEntries(
    Object.entries(slots).map(([key, value]) => {
      const amount = AMOUNTS[key];
      return amount === undefined ? [key, value] : [amount[0], amount[1](String(value))];
    }),
  );

/** The request that a file holds: `name`, then what the API takes; a name on the command line wins. Limits are the API's to say. */
export function deploymentOfFile(file: Fields, named: string | undefined, project: string | undefined): NamedWish {
  const { name = named, ...rest } = file;
  const chosen = named ?? name;
  if (typeof chosen !== 'string' || chosen === '')
    throw usageError(
      'the deployment has no name',
      'write "name: chat" in the file, or berth deploy apply -f FILE NAME',
    );
  const { template } = rest;
  if (!isFields(template))
    throw usageError(
      'the file has no template: image, slots, port or preset',
      'see docs/deployments.md for an example',
    );
  const { slots } = template;
  const whole = isFields(slots) ? { ...template, slots: slotsOf(slots) } : template;
  const wish = { ...(project === undefined ? {} : { project }), ...rest, template: whole };
  return { name: chosen, wish: wish as unknown as Wish };
}
