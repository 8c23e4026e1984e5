import { z } from 'zod';
import { autoscaleSchema, scaleDecisionSchema } from './deployment-scaling.js';
import { deploymentTemplateFields, deploymentTemplateSchema } from './deployment-template.js';
import { nameSchema, projectReferenceSchema, sessionIdSchema, timestampSchema } from './ids.js';
import { modelNameSchema } from './model-claim.js';

export * from './deployment-scaling.js';
export * from './deployment-template.js';

const seconds = z
  .int()
  .min(0)
  .max(30 * 86_400);
/** A number of replicas, or a percentage of those that are wanted. */
const boundSchema = z.union([
  z.int().min(0).max(1000),
  z.string().regex(/^(\d|[1-9]\d|100)%$/, 'a number of replicas, or a percentage such as 25%'),
]);

export const rolloutStrategySchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('rolling'),
      surge: boundSchema.default('25%').describe('above the wanted count; a percentage rounds up'),
      unavailable: boundSchema.default(0).describe('below it; a percentage rounds down'),
    }),
    z.strictObject({
      kind: z.literal('blue-green'),
      promoteAfterSeconds: seconds.nullable().default(null).describe('null: promoted by hand'),
    }),
    z.strictObject({
      kind: z.literal('canary'),
      steps: z
        .array(
          z.strictObject({
            percent: z.int().min(1).max(100).describe('of the requests'),
            holdSeconds: seconds.nullable().default(null).describe('null: until it is promoted by hand'),
          }),
        )
        .min(1)
        .max(20),
    }),
  ])
  .meta({ id: 'RolloutStrategy' });
export type RolloutStrategy = z.infer<typeof rolloutStrategySchema>;

/** All that a deployment should be; applied again it changes what differs. Another template makes a revision. */
export const applyDeploymentSchema = z
  .strictObject({
    project: projectReferenceSchema.optional().describe("the caller's only project when omitted; it never changes"),
    group: nameSchema.default('default').describe('it never changes'),
    replicas: z.int().min(0).max(1000).optional().describe('wanted; 1 at first, else as it is, when omitted'),
    template: deploymentTemplateSchema,
    strategy: rolloutStrategySchema.prefault({ kind: 'rolling' }),
    rolloutTimeoutSeconds: seconds.min(1).default(7200).describe('without progress for so long it goes back by itself'),
    autoscale: autoscaleSchema.nullable().default(null),
    modelName: modelNameSchema
      .nullable()
      .default(null)
      .describe("its name at the gateway's OpenAI routes; null: it is served under its own path only"),
    access: z
      .enum(['token', 'public'])
      .default('token')
      .describe('public: its endpoint asks for nothing; the OpenAI routes always ask for a key'),
  })
  .meta({ id: 'ApplyDeployment' });
export type ApplyDeployment = z.infer<typeof applyDeploymentSchema>;
export type ApplyDeploymentInput = z.input<typeof applyDeploymentSchema>;

/** READY only while all that are wanted serve; UNAVAILABLE: some are wanted, and none serves; IDLE: none is wanted. */
export const DEPLOYMENT_STATES = ['DEPLOYING', 'READY', 'DEGRADED', 'UNAVAILABLE', 'IDLE', 'ENDING', 'ENDED'] as const;
export const deploymentStateSchema = z.enum(DEPLOYMENT_STATES);
export type DeploymentState = z.infer<typeof deploymentStateSchema>;

export const ROUTE_STATES = ['PROVISIONING', 'WARMING', 'ACTIVE', 'DRAINING', 'ENDED'] as const;
export const REPLICA_HEALTHS = ['unknown', 'healthy', 'degraded', 'unhealthy'] as const;
export const replicaSchema = z
  .object({
    sessionId: sessionIdSchema,
    name: z.string(),
    revision: z.int(),
    route: z.enum(ROUTE_STATES),
    health: z.enum(REPLICA_HEALTHS),
    sessionState: z.string(),
    node: z.string().nullable(),
    reason: z.string().nullable().describe('why it does not serve'),
    message: z.string().nullable(),
    inFlight: z.int().describe('requests, as the gateways last told'),
    createdAt: timestampSchema,
    servingAt: timestampSchema.nullable().describe('its first success'),
    drainingAt: timestampSchema.nullable(),
  })
  .meta({ id: 'Replica' });
export type ReplicaView = z.infer<typeof replicaSchema>;

export const revisionSchema = z
  .object({
    revision: z.int(),
    state: z.enum(['current', 'rolling-out', 'failed', 'old']),
    template: deploymentTemplateFields.omit({ environment: true, registryCredentials: true }),
    environmentNames: z.array(z.string()),
    message: z.string().nullable().describe('why it failed'),
    createdAt: timestampSchema,
    createdBy: z.string(),
  })
  .meta({ id: 'Revision' });
export type Revision = z.infer<typeof revisionSchema>;

export const rolloutSchema = z
  .object({
    from: z.int().nullable(),
    target: z.int(),
    step: z.int(),
    steps: z.int(),
    percent: z.int().describe('of the requests that the target gets'),
    paused: z.boolean(),
    waitsForPromotion: z.boolean(),
    startedAt: timestampSchema,
    progressAt: timestampSchema,
    rollsBackAt: timestampSchema.nullable(),
    message: z.string(),
  })
  .meta({ id: 'Rollout' });

export const deploymentSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    project: z.string().describe('domain/name'),
    owner: z.string(),
    group: z.string(),
    state: deploymentStateSchema,
    message: z.string().describe('why it is in that state'),
    replicasWanted: z.int().describe("now: the owner's count, or what the rules made of it"),
    replicasLive: z.int(),
    replicasServing: z.int(),
    currentRevision: z.int().nullable().describe('the last good one'),
    rollout: rolloutSchema.nullable(),
    weights: z.array(z.object({ revision: z.int(), percent: z.int() })),
    strategy: rolloutStrategySchema,
    rolloutTimeoutSeconds: z.int(),
    autoscale: autoscaleSchema.nullable(),
    lastDecision: scaleDecisionSchema.nullable(),
    modelName: z.string().nullable(),
    access: z.enum(['token', 'public']),
    url: z.string().describe('of its endpoint'),
    replicas: z.array(replicaSchema),
    failuresInARow: z.int(),
    retryAt: timestampSchema.nullable().describe('failures hold back the next replica until then'),
    createdAt: timestampSchema,
    endedAt: timestampSchema.nullable(),
  })
  .meta({ id: 'Deployment' });
export type Deployment = z.infer<typeof deploymentSchema>;

/** Equal events in a row are one, with its count and both moments. */
export const deploymentEventSchema = z
  .object({
    id: z.int(),
    at: timestampSchema.describe('the last time'),
    firstAt: timestampSchema,
    count: z.int(),
    kind: z
      .string()
      .describe('applied, corrected, failed, unhealthy, backs-off, rollout, scaled, woken, state, token …'),
    message: z.string().describe('as `live 2, wanted 3: one more`'),
    data: z.record(z.string(), z.unknown()),
    actor: z.string(),
  })
  .meta({ id: 'DeploymentEvent' });
export type DeploymentEvent = z.infer<typeof deploymentEventSchema>;

/** Why it does not serve as wanted, and what to do. */
export const deploymentWhySchema = z
  .object({
    name: z.string(),
    state: deploymentStateSchema,
    message: z.string(),
    replicas: z.array(
      z.object({
        sessionId: z.string(),
        revision: z.int(),
        route: z.string(),
        health: z.string(),
        message: z.string(),
      }),
    ),
    rollout: rolloutSchema.nullable(),
    lastDecision: scaleDecisionSchema.nullable(),
    retryAt: timestampSchema.nullable(),
    actions: z.array(z.object({ title: z.string(), command: z.string() })),
    events: z.array(deploymentEventSchema).describe('the newest first'),
    evaluatedAt: timestampSchema,
  })
  .meta({ id: 'DeploymentWhy' });
export type DeploymentWhy = z.infer<typeof deploymentWhySchema>;

export const createDeploymentTokenSchema = z
  .strictObject({
    name: nameSchema.describe('to tell it from others'),
    expiresInSeconds: z.int().min(1).max(31_536_000).nullable().default(null).describe('null: until it is taken back'),
  })
  .meta({ id: 'CreateDeploymentToken' });
export const deploymentTokenSchema = z
  .object({
    id: z.string(),
    name: z.string(),
    createdBy: z.string(),
    createdAt: timestampSchema,
    expiresAt: timestampSchema.nullable(),
  })
  .meta({ id: 'DeploymentToken' });
export type DeploymentToken = z.infer<typeof deploymentTokenSchema>;

/** What an agent read of the metrics of its replicas. */
export const replicaMetricsSchema = z
  .strictObject({
    replicas: z
      .array(
        z.strictObject({
          kernelId: z.string().max(64),
          attempt: z.int().min(1),
          values: z.record(z.string().max(200), z.number()).describe('by series, labels summed; finite'),
        }),
      )
      .max(1000),
  })
  .meta({ id: 'ReplicaMetrics' });
export type ReplicaMetrics = z.infer<typeof replicaMetricsSchema>;
