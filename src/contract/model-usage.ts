import { z } from 'zod';
import { timestampSchema } from './ids.js';
import { modelNameSchema } from './model-claim.js';

/** Of one key, project, model and hour. */
export const modelUsageSchema = z
  .object({
    hour: timestampSchema,
    keyId: z.string(),
    project: z.string(),
    model: z.string(),
    requests: z.int(),
    failed: z.int().describe('answered with 5xx by the engine, or cut'),
    promptTokens: z.int(),
    completionTokens: z.int(),
  })
  .meta({ id: 'ModelUsage' });
export type ModelUsage = z.infer<typeof modelUsageSchema>;

export const putModelKeyLimitsSchema = z
  .strictObject({
    models: z
      .array(modelNameSchema)
      .max(1000)
      .nullable()
      .default(null)
      .describe("null: all that the key's owner may use"),
    requestsPerMinute: z.int().min(1).max(10_000_000).nullable().default(null),
    tokensPerMinute: z.int().min(1).max(1_000_000_000).nullable().default(null),
  })
  .meta({ id: 'PutModelKeyLimits' });
export type PutModelKeyLimits = z.infer<typeof putModelKeyLimitsSchema>;
export const modelKeyLimitsSchema = z
  .object({ keyId: z.string(), ...putModelKeyLimitsSchema.shape })
  .meta({ id: 'ModelKeyLimits' });
export type ModelKeyLimits = z.infer<typeof modelKeyLimitsSchema>;

/** From what was measured while it served; null where nothing was. */
export const modelSuggestionSchema = z
  .object({
    model: z.string(),
    maximumFootprintBytes: z.int().nullable(),
    kvFloorBytes: z.int().nullable(),
    measured: z.object({
      footprintBytes: z.int().nullable().describe('the most that it took of a GPU beside its KV cache'),
      kvUsedBytes: z.int().nullable().describe('the most KV cache in use'),
      residueBytes: z.int().nullable(),
      looks: z.int(),
    }),
    message: z.string(),
  })
  .meta({ id: 'ModelSuggestion' });
export type ModelSuggestion = z.infer<typeof modelSuggestionSchema>;
