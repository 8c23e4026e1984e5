import type { Sharing } from '../contract/index.js';

/** How the node's own GPUs are shared: by UUID, by place as nvidia-smi counts, or `all`. MIG is found, never configured. */
export type ConfiguredSharing = Exclude<Sharing, 'mig'>;
export type SharingRules = Readonly<Record<string, ConfiguredSharing>>;

/** The UUID's own rule goes before that of the place, and that before `all`; `none` without any. */
export function sharingOf(
  rules: SharingRules,
  { uuid, index }: { readonly uuid: string; readonly index: number },
): ConfiguredSharing {
  return rules[uuid] ?? rules[String(index)] ?? rules['all'] ?? 'none';
}
