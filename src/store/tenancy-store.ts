import type {
  ApiKey,
  Domain,
  Group,
  GroupPolicy,
  Page,
  PageQuery,
  PatchGroupPolicy,
  Principal,
  Project,
  Quota,
  QuotaLimits,
  User,
} from '../contract/index.js';

export interface TenancyStore {
  createDomain(domain: { readonly id: string; readonly name: string }): Promise<Domain | 'exists'>;
  createProject(project: {
    readonly id: string;
    readonly name: string;
    readonly domain: string;
  }): Promise<Project | 'exists' | 'no-domain'>;
  createUser(user: {
    readonly id: string;
    readonly name: string;
    readonly domain: string;
    readonly role: User['role'];
    readonly projects: readonly string[];
  }): Promise<User | 'exists' | 'no-domain' | 'no-project'>;
  putMember(member: {
    readonly domain: string;
    readonly project: string;
    readonly user: string;
    readonly role: 'member' | 'manager';
  }): Promise<'ok' | 'missing'>;
  removeMember(member: {
    readonly domain: string;
    readonly project: string;
    readonly user: string;
  }): Promise<'ok' | 'missing'>;
  listDomains(page: PageQuery, viewer: Principal): Promise<Page<Domain>>;
  listProjects(page: PageQuery, viewer: Principal): Promise<Page<Project>>;
  listUsers(page: PageQuery, viewer: Principal): Promise<Page<User>>;
  getUser(name: string): Promise<User | null>;
  createKey(key: {
    readonly id: string;
    readonly name: string;
    readonly user: string;
    readonly scope: ApiKey['scope'];
    readonly hash: Buffer;
    readonly prefix: string;
    readonly expiresInDays: number | null;
  }): Promise<ApiKey | 'no-user' | 'exists'>;
  /** Null for an unknown, revoked or expired key. One indexed read. */
  authenticate(hash: Buffer): Promise<Principal | null>;
  /** The principal of a user, for an operator who acts for them. */
  principalOf(userName: string): Promise<Principal | null>;
  listKeys(page: PageQuery, viewer: Principal): Promise<Page<ApiKey>>;
  /** One that the viewer may see: its own, or of its domain for the admin. */
  getKey(id: string, viewer: Principal): Promise<ApiKey | null>;
  revokeKey(id: string, viewer: Principal): Promise<'ok' | 'missing'>;
  /** First domain, project, operator and key, group and node of a new machine; changes nothing that is there. */
  bootstrap(first: Bootstrap): Promise<void>;
}
export interface Bootstrap {
  readonly ids: { readonly domain: string; readonly project: string; readonly user: string; readonly key: string };
  readonly adminKeyHash: Buffer;
  readonly adminKeyPrefix: string;
  readonly group: string;
  readonly nodes: readonly { readonly name: string; readonly tokenHash: Buffer }[];
  readonly volumes: readonly string[];
}

export interface SettingsStore {
  createGroup(group: {
    readonly name: string;
    readonly policy: GroupPolicy;
    readonly domains: readonly string[];
    readonly projects: readonly string[];
  }): Promise<Group | 'exists' | 'no-scope' | 'no-guaranteed-project'>;
  patchGroup(
    name: string,
    patch: {
      /** A merge patch: what is not named stays, in `decay` and `preemption` too. */
      readonly policy?: PatchGroupPolicy;
      readonly domains?: readonly string[];
      readonly projects?: readonly string[];
      readonly ifMatch: string | null;
    },
  ): Promise<Group | 'missing' | 'stale' | 'no-scope' | 'no-guaranteed-project'>;
  listGroups(page: PageQuery, viewer: Principal): Promise<Page<Group>>;
  getGroup(name: string, viewer: Principal): Promise<Group | null>;
  getQuota(scope: Quota['scope'], name: string): Promise<Quota | null>;
  putQuota(
    scope: Quota['scope'],
    name: string,
    change: { readonly limits: QuotaLimits; readonly ifMatch: string | null },
  ): Promise<Quota | 'missing' | 'stale'>;
  listQuotas(page: PageQuery, viewer: Principal): Promise<Page<Quota>>;
}
