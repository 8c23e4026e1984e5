import type { EngineLook } from '../../contract/index.js';

/** What the agent knows of an engine beside its container: all of it may be lost with the agent. */
export interface EngineRecord {
  state: EngineLook['state'];
  /** It was ready once since its container was started. */
  hasServed: boolean;
  /** Its next start is due. */
  restart: NodeJS.Timeout | undefined;
  /** It is being ended: an exit is no crash. */
  isStopping: boolean;
  /** Why it was given up. */
  failure: { readonly message: string; readonly whose: 'node' | 'claim' } | undefined;
  /** The last limit that was asked for: an engine that writes its own at its start is brought back to it. */
  limitBytes: number | undefined;
  apiKey: string | undefined;
  /** By device, measured while it was awake. */
  awakeBytes: Readonly<Record<string, number>> | null;
}

export interface EngineRecords {
  /** Made when it is asked for first. */
  readonly of: (instanceId: string) => EngineRecord;
  readonly forget: (instanceId: string) => void;
  readonly all: () => readonly EngineRecord[];
}

export function createEngineRecords(): EngineRecords {
  const records = new Map<string, EngineRecord>();
  return {
    of: (instanceId) => {
      const record = records.get(instanceId) ?? emptyRecord();
      records.set(instanceId, record);
      return record;
    },
    forget: (instanceId) => {
      clearTimeout(records.get(instanceId)?.restart);
      records.delete(instanceId);
    },
    all: () => [...records.values()],
  };
}

const emptyRecord = (): EngineRecord => ({
  state: 'starting',
  hasServed: false,
  restart: undefined,
  isStopping: false,
  failure: undefined,
  limitBytes: undefined,
  apiKey: undefined,
  awakeBytes: null,
});
