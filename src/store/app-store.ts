import type { AppSharing, KernelId, ProjectId, SessionId, SessionState, UserId } from '../contract/index.js';

export interface AppShare {
  readonly port: string;
  readonly sharing: AppSharing;
  /** SHA-256 of the link's secret, in base64url; null where it is not shared by link. */
  readonly linkHash: string | null;
  readonly expiresAt: string | null;
}

/** Where the main kernel of a session is, and who may enter its ports: all that the gateway decides from. */
export interface AppRoute {
  readonly sessionId: SessionId;
  readonly name: string;
  readonly state: SessionState;
  readonly attempt: number;
  readonly userId: UserId;
  readonly projectId: ProjectId;
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly shares: readonly AppShare[];
  /** Members of the project; read only where a port is shared with them. */
  readonly memberIds: readonly UserId[];
  /** Of the present attempt; null while it is on no node. */
  readonly place: {
    readonly kernelId: KernelId;
    readonly node: string;
    readonly agentUrl: string;
  } | null;
}

export interface AppStore {
  /** Every session that has ports and has not ended. */
  routes(): Promise<readonly AppRoute[]>;
  /** One of them, also when it has ended; null when it never was, or has no ports. */
  route(sessionId: SessionId): Promise<AppRoute | null>;
  /** `me` takes the row away. Listeners are told. A second call with the same answers the same. */
  share(sessionId: SessionId, share: AppShare & { readonly by: string }): Promise<void>;
  shares(sessionId: SessionId): Promise<readonly AppShare[]>;
  /** False when it was used before. Forgets those that have expired. */
  useTicket(ticket: { readonly jti: string; readonly expiresAt: string }): Promise<boolean>;
}
