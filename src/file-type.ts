/** What a binary file is, by its first bytes. A name for people and models; nothing is decided by it but whether an image can be shown. */

type Signature = readonly [offset: number, bytes: string, name: string];

// In the order tried; longer signatures stand before what they begin with.
const SIGNATURES: readonly Signature[] = [
  [0, "\x89PNG\r\n\x1a\n", "image/png"],
  [0, "\xff\xd8\xff", "image/jpeg"],
  [0, "GIF8", "image/gif"],
  [8, "WEBP", "image/webp"],
  [0, "BM", "image/bmp"],
  [0, "\0\0\x01\0", "icon"],
  [0, "%PDF-", "PDF document"],
  [0, "PK\x03\x04", "zip archive"],
  [0, "\x1f\x8b", "gzip"],
  [0, "BZh", "bzip2"],
  [0, "\xfd7zXZ", "xz"],
  [0, "\x28\xb5\x2f\xfd", "zstd"],
  [0, "7z\xbc\xaf\x27\x1c", "7z archive"],
  [257, "ustar", "tar archive"],
  [0, "\x7fELF", "ELF executable"],
  [0, "MZ", "Windows executable"],
  [0, "\xcf\xfa\xed\xfe", "Mach-O executable"],
  [0, "\xca\xfe\xba\xbe", "Java class or Mach-O executable"],
  [0, "\0asm", "WebAssembly"],
  [0, "SQLite format 3\0", "SQLite database"],
  [8, "WAVE", "WAVE audio"],
  [0, "OggS", "Ogg media"],
  [0, "ID3", "MP3 audio"],
  [4, "ftyp", "MP4 media"],
  [0, "wOF2", "font"],
  [0, "wOFF", "font"],
  [0, "\0\x01\0\0\0", "font"],
];

/** A short name, `unknown type` when no signature fits. */
export function describeBytes(head: Uint8Array): string {
  return SIGNATURES.find((signature) => fits(head, signature))?.[2] ?? "unknown type";
}

const SHOWN_IMAGES = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/** Media type of an image that models take, else null. */
export function imageType(head: Uint8Array): string | null {
  const name = describeBytes(head);
  return SHOWN_IMAGES.includes(name) ? name : null;
}

function fits(head: Uint8Array, [offset, bytes]: Signature): boolean {
  for (let at = 0; at < bytes.length; at++) if (head[offset + at] !== bytes.charCodeAt(at)) return false;
  return true;
}
