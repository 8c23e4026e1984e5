import { z } from 'zod';

/**
 * Every id is `<kind>_<26 characters>`: a UUID v7 in base 32, so ids sort by the time they were made.
 * Ids are made in the API; a workflow only carries them.
 */
const idOf = <Prefix extends string>(prefix: Prefix) =>
  z
    .string()
    .regex(new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`), `an id that looks like ${prefix}_<26 characters>`)
    .brand(`${prefix}Id`);

export const domainIdSchema = idOf('dom');
export const projectIdSchema = idOf('prj');
export const userIdSchema = idOf('usr');
export const apiKeyIdSchema = idOf('key');
export const sessionIdSchema = idOf('ses');
export const kernelIdSchema = idOf('krn');
export const folderIdSchema = idOf('fld');
export const budgetIdSchema = idOf('bgt');

export type DomainId = z.infer<typeof domainIdSchema>;
export type ProjectId = z.infer<typeof projectIdSchema>;
export type UserId = z.infer<typeof userIdSchema>;
export type ApiKeyId = z.infer<typeof apiKeyIdSchema>;
export type SessionId = z.infer<typeof sessionIdSchema>;
export type KernelId = z.infer<typeof kernelIdSchema>;
export type FolderId = z.infer<typeof folderIdSchema>;
export type BudgetId = z.infer<typeof budgetIdSchema>;

/** Lower-case letters, digits and dashes, 1–63 characters: usable as a DNS label and as a path element. */
export const nameSchema = z
  .string()
  .max(63, 'at most 63 characters')
  .regex(
    /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
    'lower-case letters, digits and dashes, starting and ending with a letter or digit',
  );

/** A project by its name in the caller's domain, or as `domain/name`. */
export const projectReferenceSchema = z
  .string()
  .max(127, 'at most 127 characters')
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\/[a-z0-9]([a-z0-9-]*[a-z0-9])?)?$/, "a project's name, or domain/name");

/** A user's name may also carry dots, underscores and an at sign (an e-mail address is a name). */
export const userNameSchema = z
  .string()
  .max(63, 'at most 63 characters')
  .regex(/^[a-z0-9]([a-z0-9._@-]*[a-z0-9])?$/, 'lower-case letters, digits and . _ @ -');

/** RFC 3339 in UTC, as `2026-11-30T13:20:00.000Z`. */
export const timestampSchema = z.iso.datetime({ offset: true });
export type Timestamp = string;
