import { z } from 'zod';

/** An image by name and tag, or by digest. */
export const imageSchema = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[a-z0-9]([a-zA-Z0-9._\-/:@]*[a-zA-Z0-9])?$/, 'an image reference as the container engine takes it');
