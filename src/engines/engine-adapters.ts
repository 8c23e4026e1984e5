import type { Engine } from '../contract/index.js';
import type { EngineAdapter } from './engine-adapter.js';
import { sglang } from './sglang.js';
import { vllm } from './vllm.js';

/** Every kind of engine that a claim can name. */
export const ENGINE_ADAPTERS: Readonly<Record<Engine, EngineAdapter>> = { vllm, sglang };
