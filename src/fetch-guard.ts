/** Which addresses a fetch for the model may reach: public ones only, judged by number after the name was resolved. Connects to nothing. */
import { isIP } from "node:net";
import { ToolError } from "./errors.ts";

/** Addresses of a name, all of them. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface FetchRules {
  resolve: Resolve;
  /** Default: `isPublicAddress`. */
  isAllowed?(address: string): boolean;
  /** Lets `http://localhost` through, loopback included; for tests of pages that run here. */
  localHttp: boolean;
}

/** An address that was judged, and the name it was judged for. The connection goes to `address`, so a name that resolves anew can't lead elsewhere. */
export interface Target {
  url: URL;
  address: string;
}

/** Judges one URL. Throws ToolError with a reason that the model can act on. */
export async function judgeUrl(text: string, rules: FetchRules): Promise<Target> {
  const url = parseUrl(text);
  const local = rules.localHttp && isLocalName(url.hostname);
  if (url.protocol !== "https:" && !(local && url.protocol === "http:"))
    throw refused(`only https is fetched, not ${url.protocol.replace(":", "")}`);
  if (url.username !== "" || url.password !== "")
    throw refused("an address with a user name or password is not fetched");
  const host = plainHost(url);
  if (isIP(host) === 4 && host !== writtenHost(text))
    throw refused(`"${writtenHost(text)}" is a disguised way to write ${host}`);
  const addresses = isIP(host) === 0 ? await resolved(host, rules.resolve) : [host];
  const isAllowed = rules.isAllowed ?? isPublicAddress;
  // One bad address is enough: which of them would be used is up to whoever answers for the name.
  const bad = addresses.find((address) => !isAllowed(address) && !(local && isLoopbackAddress(address)));
  if (bad !== undefined)
    throw refused(`${host} is ${bad === host ? "" : `${bad}, `}an address of this machine or of a private network`);
  const [address] = addresses;
  if (address === undefined) throw new ToolError(`${host} has no address. Check the spelling.`);
  return { url, address };
}

function parseUrl(text: string): URL {
  if (!URL.canParse(text)) throw new ToolError(`"${text.slice(0, 200)}" is no URL. Give a whole one, with https://.`);
  return new URL(text);
}

function refused(reason: string): ToolError {
  return new ToolError(`Not fetched: ${reason}.`, { category: "permission error" });
}

async function resolved(host: string, resolve: Resolve): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (cause) {
    throw new ToolError(`The name ${host} could not be resolved. Check the spelling; there may be no network.`, {
      cause,
    });
  }
}

/** Host without brackets and without the dot at the end, which names the same host. */
export function plainHost(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

/** As it stands in the text: parsing turns `0x7f.1` and `2130706433` into `127.0.0.1`. */
function writtenHost(text: string): string {
  const authority = /^\s*[a-z][a-z0-9+.-]*:[/\\]*([^/\\?#]*)/i.exec(text)?.[1] ?? "";
  return authority.replace(/^.*@/, "").replace(/:\d*$/, "").replace(/\.$/, "");
}

function isLocalName(hostname: string): boolean {
  return (
    hostname === "localhost" || hostname.endsWith(".localhost") || isLoopbackAddress(hostname.replace(/^\[|\]$/g, ""))
  );
}

function isLoopbackAddress(address: string): boolean {
  return /^127\.\d+\.\d+\.\d+$/.test(address) || address === "::1";
}

// IANA's special-purpose registry for IPv4, and the one public address that is a cloud's inside (Azure's 168.63.129.16).
const CLOSED_V4: readonly (readonly [network: string, bits: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["168.63.129.16", 32],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["224.0.0.0", 3],
];

// Inside 2000::/3, the only space given out: protocol space (Teredo, benchmarks), documentation, 6to4.
const CLOSED_V6: readonly (readonly [network: string, bits: number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

/** Whether an IP address is one of the public internet. Forms that carry an IPv4 address inside an IPv6 one never are. */
export function isPublicAddress(address: string): boolean {
  if (isIP(address) === 4)
    return !CLOSED_V4.some(([network, bits]) => isWithin(bytesOfV4(address), bytesOfV4(network), bits));
  // A zone (`fe80::1%eth0`) exists for local addresses only.
  if (isIP(address) !== 6 || address.includes("%")) return false;
  const bytes = bytesOfV6(address);
  return (
    isWithin(bytes, bytesOfV6("2000::"), 3) &&
    !CLOSED_V6.some(([network, bits]) => isWithin(bytes, bytesOfV6(network), bits))
  );
}

function isWithin(bytes: readonly number[], network: readonly number[], bits: number): boolean {
  return bytes.every((byte, index) => {
    const shift = Math.min(8, Math.max(0, 8 - (bits - index * 8)));
    return byte >> shift === (network[index] ?? 0) >> shift;
  });
}

function bytesOfV4(address: string): number[] {
  return address.split(".").map(Number);
}

/** The URL parser writes every form of IPv6 the same way: hexadecimal groups and at most one `::`. */
function bytesOfV6(address: string): number[] {
  const [head = "", tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split("::");
  const left = head.split(":").filter(Boolean);
  const right = (tail ?? "").split(":").filter(Boolean);
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill("0"), ...right];
  return groups.map((group) => Number.parseInt(group, 16)).flatMap((group) => [group >> 8, group & 255]);
}
