import { z } from 'zod';
import { idleCriterionSchema } from './idle-policy.js';
import { nameSchema, timestampSchema } from './ids.js';
import { imageSchema } from './image.js';
import { sessionKindSchema } from './session-kinds.js';
import { dependsOnSchema, noticeSchema, placementWishesSchema, retrySchema } from './session-wishes.js';
import { kernelSlotsSchema, LARGEST_BYTES } from './slots.js';

/** An absolute, normalised path inside the container. */
export const containerPathSchema = z
  .string()
  .max(1024)
  .regex(/^\/(?!.*\/\.\.?(\/|$))(?!.*\/\/)[^\0]+$/, 'an absolute path without . or .. or //')
  .refine((path) => !/^\/(proc|sys|dev)(\/|$)/.test(path), 'not below /proc, /sys or /dev');

export const mountSchema = z
  .strictObject({
    folder: z.string().min(1).max(130).describe("the folder's name or id"),
    target: containerPathSchema,
    readOnly: z.boolean().default(false),
    roles: z.array(nameSchema).max(64).optional().describe('kernel roles that get it; all when omitted'),
  })
  .meta({ id: 'Mount' });

/** `initialDelaySeconds` is a limit: without one success by then the session ends. */
export const healthCheckSchema = z
  .strictObject({
    path: z
      .string()
      .max(512)
      .regex(/^\/[^\0\r\n]*$/, 'starts with /')
      .default('/'),
    port: z.int().min(1).max(65_535),
    intervalSeconds: z.number().min(0.05).max(3600).default(10),
    timeoutSeconds: z.number().min(0.05).max(600).default(15),
    failures: z.int().min(1).max(1000).default(10),
    initialDelaySeconds: z.number().min(0.05).max(86_400).default(60),
    refusedIsUnhealthy: z
      .boolean()
      .default(false)
      .describe('after the first success a refused connection counts as all `failures`'),
  })
  .meta({ id: 'HealthCheck' });
export type HealthCheck = z.infer<typeof healthCheckSchema>;

export const portSchema = z
  .strictObject({ name: nameSchema, containerPort: z.int().min(1).max(65_535) })
  .meta({ id: 'Port' });

/** One role of kernels: `main`, or workers; `count` kernels of it, each with `slots`. */
export const kernelGroupSchema = z
  .strictObject({
    role: nameSchema.default('main'),
    count: z.int().min(1).max(256).default(1),
    slots: kernelSlotsSchema,
    gpuMemoryLimitBytes: z
      .int()
      .min(1)
      .max(LARGEST_BYTES)
      .optional()
      .describe('of a share: the most it may use; what it asks for when omitted. A neighbour never raises it'),
  })
  .meta({ id: 'KernelGroup' });

export const environmentSchema = z
  .record(
    z
      .string()
      .max(256)
      .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'letters, digits and underscores'),
    z.string().max(32_768),
  )
  .refine((env) => Object.keys(env).length <= 256, 'at most 256 variables')
  .refine(
    (env) => Object.keys(env).every((key) => !key.startsWith('BERTH_')),
    'names that start with BERTH_ are set by Berth',
  );

export const argumentSchema = z
  .string()
  .max(32_768)
  .refine((text) => !text.includes('\0'), 'no NUL');

/** A request for a session. Defaults and limits of a session live here and nowhere else. */
export const createSessionSchema = z
  .strictObject({
    name: nameSchema.optional().describe('unique among your open sessions of the project; made up when omitted'),
    kind: sessionKindSchema.default('batch'),
    project: z.string().max(130).describe('a project you are a member of, by name or as domain/name').optional(),
    group: nameSchema.default('default'),
    image: imageSchema,
    registryCredentials: z
      .strictObject({ username: z.string().max(256), password: z.string().max(4096) })
      .optional()
      .describe('kept sealed, used for the pull only'),
    entrypoint: z.array(argumentSchema).max(256).optional(),
    command: z.array(argumentSchema).max(1024).default([]),
    workdir: containerPathSchema.optional(),
    environment: environmentSchema.default({}),
    kernels: z.array(kernelGroupSchema).min(1).max(64),
    clusterMode: z.enum(['single-node', 'multi-node']).default('single-node'),
    gpuModel: z.string().min(1).max(128).optional().describe('only devices of this model'),
    architecture: z.enum(['amd64', 'arm64']).optional(),
    budget: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .describe(
        'the budget that is charged, by path or id, in a group that orders by fair share; none: unallocated work',
      ),
    priority: z.int().min(0).max(100).default(10),
    mounts: z.array(mountSchema).max(64).default([]),
    ports: z.array(portSchema).max(32).default([]),
    healthCheck: healthCheckSchema.optional(),
    startDeadlineSeconds: z
      .number()
      .min(0.1)
      .max(86_400)
      .default(7200)
      .describe('from placed to running, pull included'),
    maxRuntimeSeconds: z.number().min(0.1).max(31_536_000).optional(),
    minRuntimeSeconds: z.number().min(0).max(31_536_000).default(0),
    gracePeriodSeconds: z.number().min(0).max(3600).default(10),
    failurePolicy: z.enum(['strict', 'main']).default('strict'),
    startsAt: timestampSchema.optional().describe('not before this'),
    dependsOn: z.array(dependsOnSchema).max(100).default([]),
    preemptible: z
      .boolean()
      .optional()
      .describe('may be stopped for others where the group allows it; true when omitted, but for inference and system'),
    resumable: z.boolean().default(false).describe('goes on from a checkpoint when it is started again'),
    notice: noticeSchema.prefault({}),
    retry: retrySchema.prefault({}),
    placement: placementWishesSchema.prefault({}),
    idleExemptions: z
      .array(idleCriterionSchema)
      .max(3)
      .default([])
      .describe('criteria of the idle policy that never hold for it, where the policy honours that'),
    labels: z
      .record(
        z
          .string()
          .max(63)
          .regex(/^[a-z0-9]([a-z0-9._/-]*[a-z0-9])?$/),
        z.string().max(255),
      )
      .default({}),
  })
  .refine((spec) => spec.kernels.some((group) => group.role === 'main'), {
    message: 'one kernel group has the role main',
    path: ['kernels'],
  })
  .refine((spec) => spec.kernels.every((group) => group.role !== 'main' || group.count === 1), {
    message: 'there is one main kernel; use another role for workers',
    path: ['kernels'],
  })
  .refine((spec) => new Set(spec.kernels.map((group) => group.role)).size === spec.kernels.length, {
    message: 'each role stands once, with its count',
    path: ['kernels'],
  })
  .refine((spec) => spec.kernels.reduce((sum, group) => sum + group.count, 0) <= 256, {
    message: 'at most 256 kernels',
    path: ['kernels'],
  })
  .refine((spec) => spec.kernels.every(({ slots }) => slots.gpuCount === 0 || slots.gpuMemoryBytes === 0), {
    message: 'a kernel has whole devices (gpuCount) or a share of one (gpuMemoryBytes), not both',
    path: ['kernels'],
  })
  .refine(
    (spec) =>
      spec.kernels.every(
        ({ slots, gpuMemoryLimitBytes: limit }) =>
          limit === undefined || (slots.gpuMemoryBytes > 0 && limit >= slots.gpuMemoryBytes),
      ),
    { message: 'gpuMemoryLimitBytes goes with a share (gpuMemoryBytes) and is not below it', path: ['kernels'] },
  )
  .refine((spec) => spec.maxRuntimeSeconds === undefined || spec.minRuntimeSeconds <= spec.maxRuntimeSeconds, {
    message: 'not above maxRuntimeSeconds',
    path: ['minRuntimeSeconds'],
  })
  .refine((spec) => new Set(spec.mounts.map((mount) => mount.target)).size === spec.mounts.length, {
    message: 'each mount has its own target',
    path: ['mounts'],
  })
  .refine((spec) => new Set(spec.ports.map((port) => port.name)).size === spec.ports.length, {
    message: 'each port has its own name',
    path: ['ports'],
  })
  .meta({ id: 'CreateSession' });
export type CreateSession = z.infer<typeof createSessionSchema>;
export type CreateSessionInput = z.input<typeof createSessionSchema>;
