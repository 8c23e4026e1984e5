import type {
  Folder,
  FolderId,
  FolderInvitation,
  FolderOwnerUsage,
  FolderPermission,
  Page,
  PageQuery,
  Principal,
  StorageAdmission,
  Volume,
} from '../contract/index.js';

export interface NewFolder {
  readonly id: FolderId;
  readonly name: string;
  readonly project: string | null;
  readonly volume: string;
  readonly usage: Folder['usage'];
  readonly ownedBy?: Folder['ownedBy'];
  /** A user's folder: none, a project's: all, when left out. */
  readonly memberPermissions?: readonly FolderPermission[] | undefined;
  /** It begins as CLONING, and `cloned` makes it READY. */
  readonly cloneOf?: FolderId;
}
/** A limit on the number of folders: of whom, and how many there may be. */
export interface TooManyFolders {
  readonly limit: { readonly scope: string; readonly name: string; readonly folders: number };
}
export type Mounted = { readonly mountedBy: readonly string[] };
export type FolderPlace = Pick<Folder, 'id' | 'volume'>;

export interface FolderStore {
  /** The same id again answers the folder that it made. */
  create(folder: NewFolder, owner: Principal): Promise<Folder | 'exists' | 'no-project' | TooManyFolders>;
  /** Null for one on which the viewer has no right at all. */
  find(idOrName: string, viewer: Principal): Promise<Folder | null>;
  list(query: PageQuery & { readonly state?: Folder['state'] | undefined }, viewer: Principal): Promise<Page<Folder>>;
  patch(
    id: FolderId,
    change: {
      readonly name?: string | undefined;
      readonly usage?: Folder['usage'] | undefined;
      readonly memberPermissions?: readonly FolderPermission[] | undefined;
    },
  ): Promise<'ok' | 'exists'>;

  /** READY → TRASH; what is there already is `ok`. */
  trash(id: FolderId): Promise<'ok' | 'missing' | Mounted>;
  /** TRASH → READY; `exists`: its name was taken meanwhile. */
  restore(id: FolderId): Promise<'ok' | 'missing' | 'exists'>;
  /** Any state → PURGING; the bytes are then removed by the storage proxy, and `purged` ends it. */
  remove(id: FolderId): Promise<'ok' | 'missing' | Mounted>;
  purged(id: FolderId): Promise<void>;
  /** The oldest that are PURGING, once what the trash kept long enough has become so. */
  purging(limit: number): Promise<readonly FolderPlace[]>;
  /** The oldest that are CLONING, each with what it is cloned from. */
  cloning(limit: number): Promise<readonly (FolderPlace & { readonly cloneOf: FolderId })[]>;
  /** CLONING → READY. */
  cloned(id: FolderId): Promise<void>;

  /** Open invitations to it go with the old owner's word. */
  give(
    id: FolderId,
    to: { readonly user: string } | { readonly project: string; readonly giver: Principal },
  ): Promise<'ok' | 'exists' | 'no-owner' | TooManyFolders>;
  /** A second one for the same user changes the permissions. Users of another domain are not there. */
  invite(invitation: {
    readonly id: string;
    readonly folderId: FolderId;
    readonly user: string;
    readonly permissions: readonly FolderPermission[];
    readonly ownership: boolean;
    readonly by: Principal;
  }): Promise<FolderInvitation | 'no-user'>;
  /** Open ones of a folder. */
  invitationsOf(id: FolderId): Promise<readonly FolderInvitation[]>;
  /** Those that wait for this user's answer. */
  invitationsFor(user: Principal): Promise<readonly FolderInvitation[]>;
  /** An ownership accepted makes the user its owner. Accepting twice is success; `missing`: none of this user's. */
  answer(
    id: string,
    user: Principal,
    answer: 'ACCEPTED' | 'DECLINED',
  ): Promise<{ readonly folderId: FolderId } | 'missing' | 'exists' | TooManyFolders>;
  /** False when there was none. */
  revoke(id: FolderId, user: string): Promise<boolean>;

  /** Limits on bytes that bind a folder, each with every folder that counts against it. */
  byteLimits(id: FolderId): Promise<StorageAdmission['limits']>;
  /** Keeps what the proxy counted. */
  counted(id: FolderId, count: { readonly bytes: number; readonly files: number }): Promise<void>;
  /** What the viewer, its projects and its domain hold, by the last counts. */
  owners(viewer: Principal): Promise<readonly FolderOwnerUsage[]>;
  /** READY and in the trash, those first that were counted longest ago. */
  leastRecentlyCounted(limit: number): Promise<readonly FolderPlace[]>;

  volumes(): Promise<readonly Omit<Volume, 'isServed'>[]>;
  putVolume(name: string, retentionSeconds: number): Promise<Omit<Volume, 'isServed'> | null>;
}
