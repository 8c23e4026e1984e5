import type { Deployment } from '../../contract/index.js';
import type { BodyOf, CallOptions, QueryOf } from '../operations.js';
import { cursorIn, listOf } from '../pages.js';
import type { Transport } from '../transport.js';
import { type WaitForDeployment, waitForDeployment } from '../wait-for-deployment.js';

/** Model services: replicas behind one endpoint. By name. */
export const deploymentsOf = (transport: Transport) => {
  const named = (name: string) => ({ params: { name } });
  return {
    /** Makes it, or changes what differs; another template is rolled out as a new revision. */
    apply: (name: string, wish: BodyOf<'applyDeployment'>, options?: CallOptions) =>
      transport.call('applyDeployment', { ...named(name), body: wish }, options),
    /** What it would be; changes nothing. */
    dryRun: (name: string, wish: BodyOf<'applyDeployment'>, options?: CallOptions) =>
      transport.call('applyDeployment', { ...named(name), body: wish, query: { dryRun: true } }, options),
    list: (query: QueryOf<'listDeployments'> = {}, options?: CallOptions) =>
      listOf((cursor) => transport.call('listDeployments', { query: { ...query, ...cursorIn(cursor) } }, options)),
    get: (name: string, options?: CallOptions) => transport.call('getDeployment', named(name), options),
    /** Why it does not serve as wanted, replica by replica. */
    why: (name: string, options?: CallOptions) => transport.call('whyDeployment', named(name), options),
    scale: (name: string, replicas: number, options?: CallOptions) =>
      transport.call('scaleDeployment', { ...named(name), body: { replicas } }, options),
    /** Back to the last good revision, or to a named one. */
    undo: (name: string, toRevision?: number, options?: CallOptions) =>
      transport.call('undoRollout', { ...named(name), body: toRevision === undefined ? {} : { toRevision } }, options),
    pause: (name: string, options?: CallOptions) =>
      transport.call('pauseRollout', { ...named(name), body: {} }, options),
    resume: (name: string, options?: CallOptions) =>
      transport.call('resumeRollout', { ...named(name), body: {} }, options),
    /** Ends the wait of a blue-green or canary step. */
    promote: (name: string, options?: CallOptions) =>
      transport.call('promoteRollout', { ...named(name), body: {} }, options),
    /** Off the endpoint, drained, ended. A second call changes nothing. */
    remove: (name: string, options?: CallOptions) => transport.call('removeDeployment', named(name), options),
    /** The newest first. */
    revisions: (name: string, query: QueryOf<'deploymentRevisions'> = {}, options?: CallOptions) =>
      listOf((cursor) =>
        transport.call('deploymentRevisions', { ...named(name), query: { ...query, ...cursorIn(cursor) } }, options),
      ),
    /** Oldest first. */
    events: (name: string, query: QueryOf<'deploymentEvents'> = {}, options?: CallOptions) =>
      listOf((cursor) =>
        transport.call('deploymentEvents', { ...named(name), query: { ...query, ...cursorIn(cursor) } }, options),
      ),
    /** What its rules decided, the newest first. */
    decisions: (name: string, query: QueryOf<'scaleDecisions'> = {}, options?: CallOptions) =>
      listOf((cursor) =>
        transport.call('scaleDecisions', { ...named(name), query: { ...query, ...cursorIn(cursor) } }, options),
      ),
    /** `token` is shown in this answer alone. */
    createToken: (name: string, token: BodyOf<'createDeploymentToken'>, options?: CallOptions) =>
      transport.call('createDeploymentToken', { ...named(name), body: token }, options),
    tokens: (name: string, query: QueryOf<'listDeploymentTokens'> = {}, options?: CallOptions) =>
      listOf((cursor) =>
        transport.call('listDeploymentTokens', { ...named(name), query: { ...query, ...cursorIn(cursor) } }, options),
      ),
    revokeToken: (name: string, token: string, options?: CallOptions) =>
      transport.call('revokeDeploymentToken', { params: { name, token } }, options),
    /**
     * Until all that are wanted serve and no rollout is under way (or none is wanted, or it ends). `onChange` hears each
     * change. Throws `WaitTimeoutError`.
     */
    wait: (name: string, options: WaitForDeployment = {}): Promise<Deployment> =>
      waitForDeployment(transport, name, options),
  };
};
