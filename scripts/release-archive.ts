/** Archives of one program: ustar and zip, written by hand since each is a header or two. Reads none. */
import { crc32, deflateRawSync, gzipSync } from "node:zlib";

/** A `.tar.gz` of one executable file. `seconds` is its time, since 1970. Names stay under 100 bytes, files under 8 GB. */
export function tarGz(name: string, bytes: Uint8Array, seconds: number): Buffer {
  return gzipSync(tar(name, bytes, seconds), { level: 9 });
}

/** pax(1), the ustar format: a block of header, the file padded to whole blocks, two blocks of zeros. */
function tar(name: string, bytes: Uint8Array, seconds: number): Buffer {
  const header = Buffer.alloc(512);
  const put = (at: number, text: string): void => void header.write(text, at, "latin1");
  const octal = (value: number): string => `${value.toString(8).padStart(11, "0")}\0`;
  put(0, name);
  put(100, "0000755\0");
  put(108, "0000000\0");
  put(116, "0000000\0");
  put(124, octal(bytes.length));
  put(136, octal(seconds));
  // The checksum counts itself as spaces.
  put(148, "        ");
  put(156, "0");
  put(257, "ustar\x0000");
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, "0")}\0 `);
  return Buffer.concat([header, bytes, Buffer.alloc((512 - (bytes.length % 512)) % 512), Buffer.alloc(1024)]);
}

/** The first day that a zip entry can name: 1980-01-01. Zero would be no date at all, which some tools refuse. */
const DOS_DATE = 0x21;

/** A zip archive of one file, deflated. Layout: PKWARE's APPNOTE, 4.3. */
export function zip(name: string, bytes: Uint8Array): Buffer {
  const packed = deflateRawSync(bytes, { level: 9 });
  const common = Buffer.alloc(26);
  common.writeUInt16LE(20, 0);
  common.writeUInt16LE(8, 4);
  common.writeUInt16LE(DOS_DATE, 8);
  common.writeUInt32LE(crc32(bytes), 10);
  common.writeUInt32LE(packed.length, 14);
  common.writeUInt32LE(bytes.length, 18);
  common.writeUInt16LE(name.length, 22);
  const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, Buffer.from(name), packed]);
  const start = Buffer.from("PK\x01\x02\x14\x00", "latin1");
  const central = Buffer.concat([start, common, Buffer.alloc(14), Buffer.from(name)]);
  return Buffer.concat([local, central, zipEnd(central.length, local.length)]);
}

function zipEnd(centralBytes: number, offset: number): Buffer {
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", 0, "latin1");
  end.writeUInt16LE(1, 8);
  end.writeUInt16LE(1, 10);
  end.writeUInt32LE(centralBytes, 12);
  end.writeUInt32LE(offset, 16);
  return end;
}
