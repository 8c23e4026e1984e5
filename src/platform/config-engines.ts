import { z } from 'zod';

const text = z.string().min(1);

/** Of a node agent alone: beside what is shared out, the engines of pools and where models' artifacts come from. */
export const ENGINE_VARIABLES = {
  /** Where `pipe` and `log` of the node's MPS control daemon are. */
  BERTH_NODE_MPS_DIRECTORY: text.regex(/^\//, 'must be an absolute path').optional(),
  /** Measurements are told each so often, in one batch. */
  BERTH_NODE_USAGE_SECONDS: z.coerce.number().min(0.5).max(600).default(60),
  /** What engines of pools do is told each so often. */
  BERTH_ENGINE_LOOK_SECONDS: z.coerce.number().min(0.2).max(60).default(10),
  /** Models' artifacts that the node keeps, at most; what engines use is never thrown away. */
  BERTH_ARTIFACT_CACHE_BYTES: z.coerce
    .number()
    .int()
    .positive()
    .default(500 * 2 ** 30),
  BERTH_HUGGINGFACE_ENDPOINT: z.url({ protocol: /^https?$/ }).default('https://huggingface.co'),
  BERTH_S3_ENDPOINT: z.url({ protocol: /^https?$/ }).default('https://s3.amazonaws.com'),
  BERTH_S3_REGION: text.max(64).default('us-east-1'),
  /** For artifacts that are not public; without keys, requests to S3 are not signed. */
  HF_TOKEN: text.optional(),
  AWS_ACCESS_KEY_ID: text.optional(),
  AWS_SECRET_ACCESS_KEY: text.optional(),
  AWS_SESSION_TOKEN: text.optional(),
} as const;

export const ENGINE_NAMES = [
  'BERTH_NODE_MPS_DIRECTORY',
  'BERTH_NODE_USAGE_SECONDS',
  'BERTH_ENGINE_LOOK_SECONDS',
  'BERTH_ARTIFACT_CACHE_BYTES',
  'BERTH_HUGGINGFACE_ENDPOINT',
  'BERTH_S3_ENDPOINT',
  'BERTH_S3_REGION',
  'HF_TOKEN',
  'AWS_ACCESS_KEY_ID',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_SESSION_TOKEN',
] as const satisfies readonly (keyof typeof ENGINE_VARIABLES)[];
