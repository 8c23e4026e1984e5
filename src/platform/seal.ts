import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';

const VERSION = 1;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_BYTES = 32;
const HEADER_BYTES = 1 + NONCE_BYTES + TAG_BYTES;

/** AES-256-GCM over JSON. `boundTo` (an id) is authenticated: what was sealed for one thing cannot be opened as another's. */
export interface Seal {
  seal(value: unknown, boundTo: string): Buffer;
  /** Throws when the key, the bytes or `boundTo` are not those of sealing. */
  open(sealed: Buffer, boundTo: string): unknown;
}

/** Layout: version (1 byte), nonce (12), tag (16), ciphertext. */
export function createSeal(key: Buffer): Seal {
  if (key.length !== KEY_BYTES) throw new Error(`a sealing key has ${KEY_BYTES} bytes, this one ${key.length}`);
  return {
    seal(value, boundTo) {
      const nonce = randomBytes(NONCE_BYTES);
      const cipher = createCipheriv('aes-256-gcm', key, nonce);
      cipher.setAAD(Buffer.from(boundTo));
      const sealed = Buffer.concat([cipher.update(JSON.stringify(value), 'utf8'), cipher.final()]);
      return Buffer.concat([Buffer.of(VERSION), nonce, cipher.getAuthTag(), sealed]);
    },
    open(sealed, boundTo) {
      if (sealed.length < HEADER_BYTES || sealed[0] !== VERSION) throw new Error('not sealed by this version of Berth');
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(1, 1 + NONCE_BYTES));
      decipher.setAAD(Buffer.from(boundTo));
      decipher.setAuthTag(sealed.subarray(1 + NONCE_BYTES, HEADER_BYTES));
      const plain = Buffer.concat([decipher.update(sealed.subarray(HEADER_BYTES)), decipher.final()]);
      return JSON.parse(plain.toString('utf8')) as unknown;
    },
  };
}

/** The key file holds 32 bytes in base64. */
export async function readSeal(file: string): Promise<Seal> {
  return createSeal(Buffer.from((await readFile(file, 'utf8')).trim(), 'base64'));
}
