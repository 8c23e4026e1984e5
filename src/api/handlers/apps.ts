import { createHash, randomBytes } from 'node:crypto';
import type { App, AppRight, AppTicket, OperationId, Principal, Session } from '../../contract/index.js';
import { hasEnded } from '../../lifecycle/milestones.js';
import { appOrigin, portNamed } from '../../platform/app-origin.js';
import type { AppShare } from '../../store/app-store.js';
import type { ApiDeps } from '../deps.js';
import type { Handlers } from '../handler.js';
import { notFound, problem } from '../problem.js';
import { mustOwnSession } from '../rights.js';
import { seeSession } from '../see-session.js';
import { locateKernel } from './locate-kernel.js';

type Ids = Extract<OperationId, 'listApps' | 'openApp' | 'shareApp' | 'openTerminal' | 'openTunnel'>;

const TICKET_SECONDS = 60;
const LINK_SECONDS = 7 * 86_400;

type Port = Session['ports'][number];
type Unsigned<Ticket> = Ticket extends unknown ? Omit<Ticket, 'exp' | 'jti'> : never;

/** By which right the caller opens an app; null: it is not open to it. */
function rightOf(principal: Principal, session: Session, share: AppShare | undefined): AppRight | null {
  if (session.userId === principal.userId) return 'owner';
  if (principal.role === 'operator') return 'operator';
  const isMember = principal.projects.some(({ id }) => id === session.projectId);
  return share?.sharing === 'project' && isMember ? 'member' : null;
}

const inFuture = (seconds: number): string => new Date(Date.now() + seconds * 1000).toISOString();

/** What the handlers share: ports as apps, and tickets for the gateway. */
function appDesk({ signer, options }: ApiDeps) {
  const sign = async (claims: Unsigned<AppTicket>) => ({
    expiresAt: inFuture(TICKET_SECONDS),
    token: await signer.sign({ audience: 'app', seconds: TICKET_SECONDS, claims: { ...claims } }),
  });
  return {
    originOf: (session: Session, port: Port): string => appOrigin(options.appsUrl, session.id, port),
    appOf: (session: Session, port: Port, share: AppShare | undefined): App => ({
      name: port.name,
      containerPort: port.containerPort,
      url: appOrigin(options.appsUrl, session.id, port),
      sharing: share?.sharing ?? 'me',
      expiresAt: share?.expiresAt ?? null,
    }),
    sign,
    tunnel: async (claims: Unsigned<AppTicket>) => {
      const { token, expiresAt } = await sign(claims);
      return { url: `${options.gatewayUrl}/_berth/tunnel?ticket=${token}`, expiresAt };
    },
  };
}

function portOf(session: Session, wanted: string): Port {
  const port = portNamed(session.ports, wanted);
  if (port !== undefined) return port;
  const names = session.ports.map(({ name }) => name).join(', ') || 'none';
  throw problem('not_found', `${session.name} has no port ${wanted}; it has ${names}`);
}

function mustBeOpen(session: Session): void {
  if (hasEnded(session)) throw problem('gone', `${session.name} has ended`);
}

export function appHandlers(deps: ApiDeps): Handlers<Ids> {
  const { store } = deps;
  const { originOf, appOf, sign, tunnel } = appDesk(deps);
  const see = (session: string, principal: Principal) => seeSession(store.sessions, session, principal);

  return {
    async listApps({ params }, { principal }) {
      const session = await see(params.session, principal);
      const shares = await store.apps.shares(session.id);
      const shareOf = (name: string) => shares.find(({ port }) => port === name);
      return { items: session.ports.map((port) => appOf(session, port, shareOf(port.name))) };
    },
    async openApp({ params, body }, { principal }) {
      const session = await see(params.session, principal);
      const port = portOf(session, params.port);
      const shares = await store.apps.shares(session.id);
      const share = shares.find((one) => one.port === port.name);
      const right = rightOf(principal, session, share);
      if (right === null) throw notFound(`app ${port.name} of ${session.name}`);
      mustBeOpen(session);
      const claims = { sessionId: session.id, port: port.name, path: body.path, right, userId: principal.userId };
      const { token, expiresAt } = await sign({ use: 'open', ...claims });
      return { url: `${originOf(session, port)}/_berth/open?ticket=${token}`, expiresAt };
    },
    async shareApp({ params, body }, { principal }) {
      const session = await see(params.session, principal);
      mustOwnSession(principal, session);
      mustBeOpen(session);
      const port = portOf(session, params.port);
      const key = body.sharing === 'link' ? randomBytes(32).toString('base64url') : null;
      const linkHash = key === null ? null : createHash('sha256').update(key).digest('base64url');
      const expiresAt = key === null ? null : inFuture(body.expiresInSeconds ?? LINK_SECONDS);
      const share = { port: port.name, sharing: body.sharing, linkHash, expiresAt };
      await store.apps.share(session.id, { ...share, by: principal.userName });
      const app = appOf(session, port, share);
      return { ...app, link: key === null ? null : `${app.url}/_berth/link?key=${key}` };
    },
    async openTerminal({ params, body }, { principal }) {
      const session = await see(params.session, principal);
      mustOwnSession(principal, session);
      mustBeOpen(session);
      const { kernelId } = await locateKernel(deps, session, body.kernel);
      return tunnel({ use: 'terminal', sessionId: session.id, kernelId });
    },
    async openTunnel({ params }, { principal }) {
      const session = await see(params.session, principal);
      mustOwnSession(principal, session);
      mustBeOpen(session);
      const { containerPort } = portOf(session, params.port);
      const { kernelId } = await locateKernel(deps, session, 'main');
      return tunnel({ use: 'port', sessionId: session.id, kernelId, containerPort });
    },
  };
}
