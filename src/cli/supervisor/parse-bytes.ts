const UNITS = { '': 1, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 } as const;

/** `24Gi`, `512Mi` or plain bytes; throws on anything else, also on what is no whole number of bytes. */
export function parseBytes(text: string): number {
  const [, digits, unit] = /^(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|)$/.exec(text) ?? [];
  const bytes = Number(digits) * UNITS[unit as keyof typeof UNITS];
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes;
  throw new Error(`"${text}" is no size: write 24Gi, 512Mi, or a number of bytes`);
}
