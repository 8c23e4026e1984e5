import type { Registry } from 'prom-client';
import type { Logger } from '../platform/log.js';
import type { Seal } from '../platform/seal.js';
import type { TokenSigner } from '../platform/tokens.js';
import type { Store } from '../store/store.js';
import type { TemporalDoor } from '../temporal/door.js';
import type { AgentPort } from './agent-port.js';
import type { EventFeed } from './event-feed.js';
import type { FolderBytes } from './folder-bytes.js';

/** What admission and a dry run ask of the pure scheduler; handed in, so that the API decides nothing itself. */
export interface ApiDeps {
  readonly store: Store;
  readonly door: TemporalDoor;
  readonly seal: Seal;
  readonly signer: TokenSigner;
  readonly agents: AgentPort;
  readonly folderBytes: FolderBytes;
  readonly feed: EventFeed;
  readonly log: Logger;
  readonly registry: Registry;
  readonly options: ApiOptions;
}

export interface ApiOptions {
  readonly version: string;
  /** Volumes that folders can be made on; the first is the default. */
  readonly volumes: readonly string[];
  /** Where clients reach the storage proxy. */
  readonly storageUrl: string;
  /** Where clients reach the gateway. */
  readonly gatewayUrl: string;
  /** The apps of sessions are at `<port>--<session>.` before its host. */
  readonly appsUrl: string;
  /** How long a submission waits for admission before it answers SUBMITTED. */
  readonly admissionWaitMs: number;
  readonly requestsPerMinuteMax: number;
  /** How often removals of folders that were cut are taken up again. */
  readonly purgeEveryMs: number;
  /** Parses each answer with its schema too; for tests. */
  readonly checkAnswers: boolean;
}
