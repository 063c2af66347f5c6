/** Which hosts are never sent through a proxy: loopback, and what NO_PROXY names. Pure; resolves no names. */
import { matchesWildcard } from "./wildcard.ts";

/** Loaded where a proxy is configured: most machines have none. */
const net = (): typeof import("node:net") => process.getBuiltinModule("node:net");

/** True for addresses of this machine: 127.0.0.0/8, ::1, the unspecified ones, localhost and names below it. Takes a URL's hostname. */
export function isLoopback(hostname: string): boolean {
  const host = plainHost(hostname);
  if (host === "localhost" || host.endsWith(".localhost")) return true;
  return (
    ["::1", "::", "0.0.0.0"].includes(host) || /^127\.\d+\.\d+\.\d+$/.test(host) || /^::ffff:7f[0-9a-f]{2}:/.test(host)
  );
}

/** True when an entry of NO_PROXY (commas or blanks between) covers the target: `*`, domain, `.suffix`, address, CIDR, `127.*`, any with `:port`. */
export function bypassesProxy(target: URL, noProxy: string): boolean {
  return noProxy.split(/[\s,]+/).some((entry) => entry !== "" && covers(entry.toLowerCase(), target));
}

function covers(entry: string, target: URL): boolean {
  const { host, port } = splitPort(entry);
  if (port !== null && port !== portOf(target)) return false;
  const name = plainHost(target.hostname);
  if (host === "*") return true;
  if (host.includes("/")) return coversAddress(host, name);
  if (net().isIP(host) !== 0) return coversAddress(`${host}/${net().isIP(host) === 6 ? 128 : 32}`, name);
  return host.slice(1).includes("*") ? matchesWildcard(host, name) : coversName(host.replace(/^\*?\.+/, ""), name);
}

// `[::1]:8080` and `host:8080` carry a port; a bare IPv6 address has colons of its own.
function splitPort(entry: string): { host: string; port: string | null } {
  const bracketed = /^\[([^\]]*)\](?::(\d+))?(\/\d+)?$/.exec(entry);
  if (bracketed) return { host: (bracketed[1] ?? "") + (bracketed[3] ?? ""), port: bracketed[2] ?? null };
  const named = /^([^:]+):(\d+)$/.exec(entry);
  return named ? { host: named[1] ?? "", port: named[2] ?? null } : { host: entry, port: null };
}

function portOf(target: URL): string {
  if (target.port !== "") return target.port;
  return target.protocol === "https:" || target.protocol === "wss:" ? "443" : "80";
}

function coversName(domain: string, name: string): boolean {
  const bare = domain.replace(/\.$/, "");
  return bare !== "" && (name === bare || name.endsWith(`.${bare}`));
}

function coversAddress(range: string, name: string): boolean {
  const slash = range.indexOf("/");
  const network = range.slice(0, slash);
  const bits = Number(range.slice(slash + 1));
  const version = net().isIP(network);
  if (
    version === 0 ||
    net().isIP(name) === 0 ||
    !Number.isInteger(bits) ||
    bits < 0 ||
    bits > (version === 6 ? 128 : 32)
  ) {
    return false;
  }
  const list = new (net().BlockList)();
  list.addSubnet(network, bits, version === 6 ? "ipv6" : "ipv4");
  return list.check(name, net().isIP(name) === 6 ? "ipv6" : "ipv4");
}

function plainHost(hostname: string): string {
  return hostname
    .toLowerCase()
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "");
}
