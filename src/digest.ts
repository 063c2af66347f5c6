/** Hashes and random names by the runtime's own means: `node:crypto` alone would take longer to load than all of a start. */

/** SHA-256 in hexadecimal. */
export function sha256(data: string | Uint8Array): string {
  return new Bun.CryptoHasher("sha256").update(data).digest("hex");
}

/** Random bytes in hexadecimal: twice as many digits. */
export function randomHex(bytes: number): string {
  return crypto.getRandomValues(new Uint8Array(bytes)).toHex();
}
