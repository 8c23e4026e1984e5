import { Call } from '../models/call.js';
import { type EndpointProblem, renderProblem } from './deployment-problem.js';
import { headersToReplica } from './replica-headers.js';
import type { ReplicaTarget } from './replica-target.js';

/** One request for a deployment's endpoint. Its body is not read before a replica has taken the connection. */
export class EndpointCall extends Call {
  name = '';
  /** What the replica is asked, with the query. */
  rest = '/';
  revision: number | null = null;

  problem(problem: EndpointProblem): void {
    if (this.isGone) return;
    if (this.response.headersSent) return void this.response.destroy();
    const { status, headers, body } = renderProblem(problem, this.requestId);
    this.status = status;
    this.response.writeHead(status, headers).end(body);
  }

  headersTo({ authorization }: ReplicaTarget, scheme: string): string[] {
    const { requestId, name } = this;
    return headersToReplica(this.request, { authorization, requestId, name, scheme });
  }

  /** Null: there is none. Read as the replica takes it; left as it is where the replica wants no more. */
  bodyParts(): AsyncIterable<Buffer> | null {
    const { headers } = this.request;
    const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
    if (!hasBody) return null;
    const { request } = this;
    return { [Symbol.asyncIterator]: () => request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer> };
  }
}
