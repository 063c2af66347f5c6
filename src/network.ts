/** Decides for each request: through which proxy, and with which certificates. Reads certificate files; sends nothing itself. */
import { loadExtraCertificates } from "./network-ca.ts";
import { bypassesProxy, isLoopback } from "./network-bypass.ts";

export type NetworkEnv = Readonly<Record<string, string | undefined>>;

/** Spread into the init of Bun's fetch. */
export interface NetworkOptions {
  /** Always set: Bun reads the process's own variables where it is absent, null or empty, and sends loopback to the proxy. */
  proxy: string | false;
  tls?: { ca: string[] };
}

// curl's: for what has no variable of its own.
const FOR_ALL = "all_proxy";

let rootsWithExtra: { files: string; ca: string[] } | null = null;

/** Proxy and certificates for one URL. Lower-case variables win over upper-case ones, as in curl. Never throws. */
export function networkOptions(url: string, env: NetworkEnv): NetworkOptions {
  const proxy = proxyFor(url, env) ?? false;
  const ca = certificatesFor(env);
  return ca === null ? { proxy } : { proxy, tls: { ca } };
}

/** What is wrong with the proxy and certificate variables, one line each; never shows a password. */
export function networkWarnings(env: NetworkEnv): string[] {
  const own = ["http_proxy", "https_proxy"];
  const isAsked = own.some((name) => readVariable(name, env) === null);
  const proxies = [...own, ...(isAsked ? [FOR_ALL] : [])].flatMap((name) => warnOfProxy(name, env));
  return [...proxies, ...loadExtraCertificates(certificateFiles(env)).warnings];
}

/** The URL with user and password replaced, for anything that is printed. */
export function redactUrl(url: string): string {
  // `me:secret@host` parses, as a URL of the scheme `me`.
  if (!url.includes("://") || !URL.canParse(url)) return url.replace(/^([a-z][a-z0-9+.-]*:\/\/)?\S*@/i, "$1***@");
  const parsed = new URL(url);
  if (parsed.username === "" && parsed.password === "") return url;
  parsed.username = "***";
  parsed.password = "";
  return parsed.href;
}

/** The proxy variables in force with passwords hidden, for reports. */
export function describeProxies(env: NetworkEnv): { http: string | null; https: string | null; bypass: string | null } {
  const shown = (name: string) => {
    const value = readVariable(name, env) ?? readVariable(FOR_ALL, env);
    return value === null ? null : redactUrl(withScheme(value));
  };
  return { http: shown("http_proxy"), https: shown("https_proxy"), bypass: readVariable("no_proxy", env) };
}

function proxyFor(url: string, env: NetworkEnv): string | null {
  if (!URL.canParse(url)) return null;
  const target = new URL(url);
  const name = /^(?:https|wss):$/.test(target.protocol) ? "https_proxy" : "http_proxy";
  const proxy = readVariable(name, env) ?? readVariable(FOR_ALL, env);
  if (proxy === null || isLoopback(target.hostname)) return null;
  return bypassesProxy(target, readVariable("no_proxy", env) ?? "") ? null : usableProxy(proxy);
}

function usableProxy(value: string): string | null {
  const url = withScheme(value);
  return URL.canParse(url) && isHttp(new URL(url)) ? url : null;
}

function warnOfProxy(name: string, env: NetworkEnv): string[] {
  const value = readVariable(name, env);
  if (value === null) return [];
  const url = withScheme(value);
  const shown = `${name.toUpperCase()} ${redactUrl(url)}`;
  if (!URL.canParse(url)) return [`${shown} is not a URL: going without a proxy.`];
  return isHttp(new URL(url)) ? [] : [`${shown} is no http or https proxy: going without it.`];
}

function isHttp(url: URL): boolean {
  return url.protocol === "http:" || url.protocol === "https:";
}

// `proxy.corp:3128` is how many write it; as a URL it would have the scheme `proxy.corp`.
function withScheme(value: string): string {
  return value.includes("://") ? value : `http://${value}`;
}

function readVariable(name: string, env: NetworkEnv): string | null {
  const value = (env[name] ?? env[name.toUpperCase()])?.trim();
  return value ? value : null;
}

function certificateFiles(env: NetworkEnv): { variable: string; path: string }[] {
  return ["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE"].flatMap((variable) => {
    const path = env[variable]?.trim();
    return path ? [{ variable, path }] : [];
  });
}

// One array for all requests: Bun keeps connections apart by it, and joining hundreds of certificates costs time.
function certificatesFor(env: NetworkEnv): string[] | null {
  const files = certificateFiles(env);
  if (files.length === 0) return null;
  const key = JSON.stringify(files);
  if (rootsWithExtra?.files !== key) {
    const extra = loadExtraCertificates(files).certificates;
    // Loaded here: it reads all the built-in certificates as soon as it is imported.
    const roots = extra.length === 0 ? [] : process.getBuiltinModule("node:tls").rootCertificates;
    rootsWithExtra = { files: key, ca: extra.length === 0 ? [] : [...new Set([...roots, ...extra])] };
  }
  return rootsWithExtra.ca.length === 0 ? null : rootsWithExtra.ca;
}
