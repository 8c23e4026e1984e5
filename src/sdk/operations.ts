import type { z } from 'zod';
import type { OperationId, ROUTES } from '../contract/index.js';

type RouteOf<Op extends OperationId> = (typeof ROUTES)[Op];

/** What a successful answer holds; `void` where there is none. */
export type AnswerOf<Op extends OperationId> =
  RouteOf<Op> extends { readonly answer: infer A extends z.ZodType } ? z.output<A> : void;

/** Body as a caller writes it: defaults may be left out. */
export type BodyOf<Op extends OperationId> =
  RouteOf<Op> extends { readonly body: infer B extends z.ZodType } ? z.input<B> : never;

export type QueryOf<Op extends OperationId> =
  RouteOf<Op> extends { readonly query: infer Q extends z.ZodType }
    ? { readonly [K in keyof z.output<Q>]?: z.output<Q>[K] | undefined }
    : never;

export type ParamsOf<Op extends OperationId> =
  RouteOf<Op> extends { readonly params: infer P extends z.ZodType }
    ? { readonly [K in keyof z.output<P>]: string | number }
    : never;

type Part<Name extends string, Value, Presence extends 'needed' | 'optional'> = [Value] extends [never]
  ? { readonly [K in Name]?: never }
  : Presence extends 'needed'
    ? { readonly [K in Name]: Value }
    : { readonly [K in Name]?: Value };

/** What one call is made of, by the route table: path parameters, query, body. */
export type CallInput<Op extends OperationId> = Part<'params', ParamsOf<Op>, 'needed'> &
  Part<'query', QueryOf<Op>, 'optional'> &
  Part<'body', BodyOf<Op>, 'needed'>;

/** Operations whose answer is a stream. */
export type StreamOperation = {
  [Op in OperationId]: RouteOf<Op>['answer'] extends 'stream' ? Op : never;
}[OperationId];

export interface CallOptions {
  readonly signal?: AbortSignal | undefined;
  /** One is made for each POST; give your own to make a call safe across restarts of your program. */
  readonly idempotencyKey?: string | undefined;
  /** The ETag that the change is made on: 412 when the object has changed since. */
  readonly ifMatch?: string | undefined;
}

/** Any route's input, once its types have been checked. */
export interface AnyInput {
  readonly params?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
}
