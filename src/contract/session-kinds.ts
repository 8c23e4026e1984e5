import { z } from 'zod';

export const SESSION_KINDS = ['interactive', 'batch', 'inference', 'system'] as const;
export const sessionKindSchema = z.enum(SESSION_KINDS);
export type SessionKind = (typeof SESSION_KINDS)[number];
