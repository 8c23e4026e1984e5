import { z } from 'zod';

/** Keyset pagination on (createdAt, id); the cursor is opaque. */
export const pageQuerySchema = z.object({
  limit: z.coerce.number().int().min(1).max(500).default(50),
  cursor: z.string().max(256).optional(),
});
export type PageQuery = z.infer<typeof pageQuerySchema>;

export const pageOf = <Item extends z.ZodType>(item: Item, id: string) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() }).meta({ id });
export interface Page<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | null;
}
