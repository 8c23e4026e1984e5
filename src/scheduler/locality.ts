import type { SnapshotNode } from '../contract/snapshot.js';
import type { Wishes } from './demand.js';
import type { NodeTable } from './node-table.js';

/** How many of the request's image and folders each node holds already. */
export interface Locality {
  readonly held: Uint8Array;
  readonly most: number;
}

/** null when no node holds any of them: then it decides nothing. Kept by image and folders. */
export function localityOf(table: NodeTable, { image, folders }: Pick<Wishes, 'image' | 'folders'>): Locality | null {
  if (image === null && folders.length === 0) return null;
  const key = folders.length === 0 ? (image ?? '') : JSON.stringify([image, folders]);
  const known = table.localities.get(key);
  if (known !== undefined) return known;
  const held = Uint8Array.from(table.nodes, (node) => heldBy(node, image, folders));
  let most = 0;
  for (const each of held) most = Math.max(most, each);
  const locality = most === 0 ? null : { held, most };
  table.localities.set(key, locality);
  return locality;
}

function heldBy(node: SnapshotNode, image: string | null, folders: readonly string[]): number {
  let count = image !== null && node.images.includes(image) ? 1 : 0;
  for (const folder of folders) if (count < 255 && node.folders.includes(folder)) count += 1;
  return count;
}
