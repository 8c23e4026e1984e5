import { newRequestId } from '../../platform/ids.js';

const COUNT_BASE = 36;
const COUNT_LENGTH = 8;

/** Of this process alone; a new one for each request would cost more than the rest of what is done with it. */
const own = newRequestId();
let count = 0;

/** Unique, and in the order of asking within a process; nobody's right hangs on its being unknown. */
export function nextRequestId(): string {
  count += 1;
  return `${own}-${count.toString(COUNT_BASE).padStart(COUNT_LENGTH, '0')}`;
}
