export type FoundTemporal =
  | { readonly kind: 'server'; readonly address: string; readonly how: string }
  | { readonly kind: 'program'; readonly path: string; readonly how: string };
export type TemporalProgram = Extract<FoundTemporal, { kind: 'program' }>;

export function findTemporal(): FoundTemporal | undefined;
export function findTemporalProgram(): TemporalProgram | undefined;
/** Installs when nothing is found; throws a SetupError that names the mend. */
export function ensureTemporal(): Promise<FoundTemporal>;
export function ensureTemporal(find: () => TemporalProgram | undefined): Promise<TemporalProgram>;
