export const FLOOR_CONTROL = 'floor-control';
export const FLOOR_NODE = 'floor-node';
export const FLOOR_DEPLOYMENT = 'floor';

export interface FloorSession {
  readonly id: string;
  /** False: no kick and no planner; who submitted it sends `placed` itself. */
  readonly isPlanned: boolean;
}

export interface FloorControl {
  admit(session: FloorSession): Promise<void>;
  begin(id: string): Promise<void>;
  markRunning(id: string): Promise<void>;
  finish(id: string): Promise<void>;
  plan(): Promise<void>;
}

export interface FloorNode {
  startKernels(id: string): Promise<void>;
  removeKernels(id: string): Promise<void>;
}

/** What a floor worker tells its parent. */
export type FloorNews =
  | { readonly kind: 'ready' }
  | { readonly kind: 'running'; readonly id: string; readonly at: number }
  | { readonly kind: 'finished'; readonly id: string };
