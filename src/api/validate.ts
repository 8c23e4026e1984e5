import type { FastifySchemaCompiler } from 'fastify';
import type { z } from 'zod';
import type { Refusal } from '../contract/index.js';
import { toPointer } from './pointer.js';
import { ProblemError } from './problem.js';
import { unstorableText } from './unstorable-text.js';

type Complaint = NonNullable<Refusal['errors']>[number];

const COMPLAINTS_MAX = 50;
const TOLD_MAX = 3;

/** A JSON pointer into the body, `?name` for a query parameter, `/path/name` for one of the path. */
function pointerIn(httpPart: string | undefined, path: readonly PropertyKey[]): string {
  if (httpPart === 'querystring') return `?${path.map(String).join('.')}`;
  return httpPart === 'params' ? `/path${toPointer(path)}` : toPointer(path);
}

/**
 * An unknown key gets a pointer of its own, so that the answer names the key and not the object around it. A schema that has a
 * message of its own for them says more than that the key is unknown.
 */
function complaintsOf(issue: z.core.$ZodIssue, httpPart: string | undefined): Complaint[] {
  if (issue.code !== 'unrecognized_keys') return [{ pointer: pointerIn(httpPart, issue.path), message: issue.message }];
  const own = issue.message.startsWith('Unrecognized key') ? null : issue.message;
  return issue.keys.map((key) => ({
    pointer: pointerIn(httpPart, [...issue.path, key]),
    message: own ?? `unknown key ${JSON.stringify(key.slice(0, 100))}`,
  }));
}

function sentence(errors: readonly Complaint[]): string {
  const told = errors.slice(0, TOLD_MAX).map(({ pointer, message }) => `${pointer} ${message}`.trim());
  return errors.length > TOLD_MAX ? `${told.join('; ')}; and ${errors.length - TOLD_MAX} more` : told.join('; ');
}

/** A path that does not parse names nothing: 404. All else is the request's fault: 400 with each place in it. */
function refuse(error: z.ZodError, httpPart: string | undefined): ProblemError {
  const errors = error.issues.flatMap((issue) => complaintsOf(issue, httpPart)).slice(0, COMPLAINTS_MAX);
  return new ProblemError({
    code: httpPart === 'params' ? 'not_found' : 'invalid_request',
    detail: sentence(errors),
    errors,
  });
}

/** The body's text is checked where it is parsed. */
function textIssue(data: unknown, httpPart: string | undefined): ProblemError | null {
  const found = unstorableText(data);
  if (found === null) return null;
  const pointer = pointerIn(httpPart, found.path);
  const code = httpPart === 'params' ? 'not_found' : 'invalid_request';
  return new ProblemError({ code, detail: found.message, errors: [{ pointer, message: found.message }] });
}

/** Parses with the route's schema; the handler gets the parsed value, defaults filled in. */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> = ({ schema, httpPart }) => {
  return (data: unknown) => {
    const unstorable = httpPart === 'body' ? null : textIssue(data, httpPart);
    if (unstorable !== null) return { error: unstorable };
    const parsed = schema.safeParse(data);
    return parsed.success ? { value: parsed.data } : { error: refuse(parsed.error, httpPart) };
  };
};
