export const SIMULATED_ENGINE_IMAGE: 'berth/simulated-engine:1';
/** The image in the engine: one call when it is there, else seconds on top of `berth/python:test`. Throws `SetupError`. */
export function ensureSimulatedEngineImage(): Promise<{ readonly name: string; readonly how: string }>;
