import { z } from 'zod';

/** Of control workers alone. */
export const CONTROL_VARIABLES = {
  /** Where rules of deployments ask for their Prometheus queries; unset: those metrics are missing. */
  BERTH_PROMETHEUS_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** A folder where control workers write each pass that they plan, for `berth simulate --replay`; it grows without end. */
  BERTH_RECORD_PASSES: z.string().min(1).optional(),
} as const;

export const CONTROL_NAMES = [
  'BERTH_PROMETHEUS_URL',
  'BERTH_RECORD_PASSES',
] as const satisfies readonly (keyof typeof CONTROL_VARIABLES)[];
