import { z } from 'zod';
import {
  argumentSchema,
  containerPathSchema,
  environmentSchema,
  healthCheckSchema,
  mountSchema,
} from './create-session.js';
import { imageSchema } from './image.js';
import { placementWishesSchema } from './session-wishes.js';
import { kernelSlotsSchema } from './slots.js';

/** Engines whose port, health check and warm-up are known. */
export const REPLICA_PRESETS = ['vllm', 'sglang', 'tgi', 'nim'] as const;
export const replicaPresetSchema = z.enum(REPLICA_PRESETS);
export type ReplicaPreset = z.infer<typeof replicaPresetSchema>;

const path = z
  .string()
  .max(512)
  .regex(/^\/[^\0\r\n]*$/, 'starts with /');

const check = healthCheckSchema.shape;
/** What is left out is the preset's; without a preset `path` makes it a check. */
export const replicaHealthSchema = z
  .strictObject({
    path: path.optional(),
    port: z.int().min(1).max(65_535).optional().describe("the replica's port when omitted"),
    intervalSeconds: check.intervalSeconds.unwrap().default(5),
    timeoutSeconds: check.timeoutSeconds.unwrap().default(5),
    failures: check.failures.unwrap().default(10),
    initialDelaySeconds: check.initialDelaySeconds
      .unwrap()
      .optional()
      .describe('a limit, never a wait: without one success by then it is replaced; 60, or 1800 with a preset'),
  })
  .meta({ id: 'ReplicaHealth' });
export type ReplicaHealth = z.infer<typeof replicaHealthSchema>;

/** What a template says, without what has to hold between its fields. */
export const deploymentTemplateFields = z.strictObject({
  image: imageSchema,
  registryCredentials: z
    .strictObject({ username: z.string().max(256), password: z.string().max(4096) })
    .optional()
    .describe('kept sealed, used for the pull only'),
  model: z
    .strictObject({
      folder: z.string().min(1).max(130).describe("the folder's name or id"),
      path: containerPathSchema.default('/model'),
    })
    .optional()
    .describe('a folder with model files, mounted read-only'),
  preset: replicaPresetSchema.optional(),
  entrypoint: z.array(argumentSchema).max(256).optional(),
  command: z.array(argumentSchema).max(1024).default([]).describe("the preset's, for the model folder, when omitted"),
  workdir: containerPathSchema.optional(),
  environment: environmentSchema.default({}).describe('values are sealed, and never shown'),
  slots: kernelSlotsSchema,
  gpuModel: z.string().min(1).max(128).optional(),
  architecture: z.enum(['amd64', 'arm64']).optional(),
  mounts: z.array(mountSchema).max(64).default([]),
  port: z.int().min(1).max(65_535).optional().describe("where it serves HTTP; the preset's when omitted"),
  health: replicaHealthSchema.prefault({}),
  metricsPath: path.nullable().default(null).describe("of its Prometheus text; the preset's when null"),
  startDeadlineSeconds: z.number().min(0.1).max(86_400).default(7200),
  drainSeconds: z.number().min(0).max(3600).default(30).describe('for requests in flight, before SIGTERM'),
  gracePeriodSeconds: z.number().min(0).max(3600).default(10).describe('from SIGTERM to SIGKILL'),
  priority: z.int().min(0).max(100).default(10),
  budget: z.string().min(1).max(500).optional(),
  preemptible: z.boolean().default(false),
  placement: placementWishesSchema.prefault({}),
});
/** What each replica of a revision is. A revision never changes: another template is another revision. */
export const deploymentTemplateSchema = deploymentTemplateFields
  .refine(({ port, preset }) => port !== undefined || preset !== undefined, {
    message: 'name the port where it serves HTTP, or a preset that knows it (vllm, sglang, tgi, nim)',
    path: ['port'],
  })
  .refine(({ slots }) => slots.gpuCount === 0 || slots.gpuMemoryBytes === 0, {
    message: 'whole devices (gpuCount) or a share of one (gpuMemoryBytes), not both',
    path: ['slots'],
  })
  .refine(({ model, mounts }) => model === undefined || mounts.every(({ target }) => target !== model.path), {
    message: 'the model folder is mounted there',
    path: ['mounts'],
  })
  .refine(({ mounts }) => new Set(mounts.map(({ target }) => target)).size === mounts.length, {
    message: 'each mount has its own target',
    path: ['mounts'],
  })
  .meta({ id: 'DeploymentTemplate' });
export type DeploymentTemplate = z.infer<typeof deploymentTemplateSchema>;
