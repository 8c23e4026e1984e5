import { type DeviceTable, MAY, shareRoom } from './device-table.js';
import { type DeviceNeed, packShares } from './pack-devices.js';
import type { ShareRoom } from './search-assignment.js';

/** Left on all devices of the node that take shares, of the model (-1: whichever). */
export function shareableBytes(devices: DeviceTable, i: number, model: number): number {
  const end = devices.start[i + 1] as number;
  let bytes = 0;
  for (let d = devices.start[i] as number; d < end; d += 1)
    if (model === -1 || devices.model[d] === model) bytes += shareRoom(devices, d);
  return bytes;
}

/** Answers of one search, by what the devices of a node have left and what is asked of them: nodes alike are asked once. */
export type PackingMemory = Map<string, ReturnType<typeof packShares>>;

export function shareRoomOf(
  devices: DeviceTable,
  i: number,
  { model, memory }: { readonly model: number; readonly memory: PackingMemory },
): ShareRoom {
  const shape = deviceShape(devices, i, model);
  const fits = (need: DeviceNeed): ReturnType<typeof packShares> => {
    const key = `${shape}|${need.gpuCount}|${need.shares.join()}`;
    let answer = memory.get(key);
    if (answer === undefined) {
      answer = packShares(devices, i, { unit: need, model });
      memory.set(key, answer);
    }
    return answer;
  };
  return { gpuMemoryBytes: shareableBytes(devices, i, model), fits };
}

/** Equal for nodes whose devices of the model hold the same. */
function deviceShape(devices: DeviceTable, i: number, model: number): string {
  const parts: string[] = [];
  for (let d = devices.start[i] as number; d < (devices.start[i + 1] as number); d += 1) {
    const may = devices.may[d] as number;
    if (may === 0 || (model !== -1 && devices.model[d] !== model)) continue;
    const isFree = devices.leftBytes[d] === devices.memoryBytes[d] ? (may & MAY.whole) + 2 : 0;
    parts.push(`${isFree}:${may}:${shareRoom(devices, d)}`);
  }
  return parts.toSorted().join();
}
