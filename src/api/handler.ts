import type { FastifyReply, FastifyRequest } from 'fastify';
import type { OperationId, Principal, ROUTES, RouteAnswer, RouteInput } from '../contract/index.js';

interface AnyCall {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
  /** The id that a thing made by this request shall have. A repeated Idempotency-Key brings the same one. */
  readonly resourceId: string;
}
export interface UserCall extends AnyCall {
  readonly principal: Principal;
}
export interface NodeCall extends AnyCall {
  /** The node whose token this is; it is the node of the path. */
  readonly node: string;
}

export type CallOf<Id extends OperationId> = (typeof ROUTES)[Id]['access'] extends 'node'
  ? NodeCall
  : (typeof ROUTES)[Id]['access'] extends 'anyone'
    ? AnyCall
    : UserCall;

/** Answers a parsed and authorised request. Throws `ProblemError` to refuse. For a `stream` it sends by itself. */
export type Handler<Id extends OperationId> = (input: RouteInput<Id>, call: CallOf<Id>) => Promise<RouteAnswer<Id>>;

export type Handlers<Ids extends OperationId = OperationId> = { readonly [Id in Ids]: Handler<Id> };

/** May this caller do it to this object? Run before the handler and before a dry run answers. Throws `ProblemError`. */
export type Checks = { readonly [Id in OperationId]?: (input: RouteInput<Id>, call: CallOf<Id>) => Promise<void> };
