import { z } from 'zod';
import { timestampSchema } from './ids.js';
import { planSchema } from './plan.js';
import { snapshotSchema } from './snapshot.js';

/** One pass of a control worker under BERTH_RECORD_PASSES: a line of JSON. */
export const passRecordSchema = z.object({
  schema: z.literal('berth.pass/1'),
  now: timestampSchema,
  snapshot: snapshotSchema,
  plan: planSchema,
});
export type PassRecord = z.infer<typeof passRecordSchema>;
