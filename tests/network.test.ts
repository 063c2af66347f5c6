/** Which proxy and which certificates a request gets, decided and on the wire, from source and compiled. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { describeProxies, networkOptions, networkWarnings, redactUrl } from "../src/network.ts";
import { growth } from "./support/growth.ts";
import { startRecordingProxy, type RecordingProxy } from "./support/recording-proxy.ts";

const PROXY = "http://proxy.test:3128";
const both = { HTTP_PROXY: PROXY, HTTPS_PROXY: PROXY };
const proxyOf = (url: string, env: Record<string, string>) => networkOptions(url, env).proxy;

describe("loopback never goes to the proxy", () => {
  test.each([
    "http://127.0.0.1:11434/v1",
    "http://127.1.2.3/",
    "http://localhost:1234/v1",
    "http://LOCALHOST./",
    "http://model.localhost/",
    "http://[::1]:8080/",
    "http://[::ffff:127.0.0.1]/",
    "http://0x7f.1/",
    "http://0.0.0.0:11434/",
    "https://localhost/",
  ])("%s", (url) => {
    expect(proxyOf(url, both)).toBe(false);
  });

  test.each(["http://localhost.example.test/", "http://128.0.0.1/", "http://notlocalhost/"])("%s does", (url) => {
    expect(proxyOf(url, both)).toBe(PROXY);
  });
});

describe("ALL_PROXY", () => {
  test("stands in for the variables that aren't set, and obeys NO_PROXY", () => {
    const env = { all_proxy: "http://all.test:1", HTTPS_PROXY: PROXY, NO_PROXY: ".corp" };
    expect(
      ["http://a.test/", "https://a.test/", "http://a.corp/", "http://localhost/"].map((url) => proxyOf(url, env)),
    ).toEqual(["http://all.test:1", PROXY, false, false]);
    expect(describeProxies(env)).toMatchObject({ http: "http://all.test:1", https: PROXY });
  });

  test("of a kind that isn't spoken is said, unless nothing needs it", () => {
    const env = { ALL_PROXY: "socks5://me:secret@all.test:1" };
    expect(proxyOf("https://a.test/", env)).toBe(false);
    expect(networkWarnings(env).join()).toContain("ALL_PROXY socks5://***@all.test:1");
    expect(networkWarnings({ ...env, ...both })).toEqual([]);
  });
});

describe("NO_PROXY", () => {
  const list = "example.com,.corp, 10.0.0.0/8,127.*,192.168.7.*,host.test:8080 [2001:db8::]/32,*.wild.test,fd00::1";
  test.each([
    ["https://example.com/", false],
    ["https://EXAMPLE.com./", false],
    ["https://api.example.com/", false],
    ["https://notexample.com/", PROXY],
    ["https://example.com.test/", PROXY],
    ["http://a.b.corp/", false],
    ["http://corp/", false],
    ["http://acorp/", PROXY],
    ["http://10.200.3.4/", false],
    ["http://11.0.0.1/", PROXY],
    ["http://192.168.7.9/", false],
    ["http://192.168.8.9/", PROXY],
    ["http://host.test:8080/", false],
    ["http://sub.host.test:8080/", false],
    ["http://host.test/", PROXY],
    ["http://[2001:db8:1::5]/", false],
    ["http://[2001:db9::5]/", PROXY],
    ["http://[fd00::1]/", false],
    ["http://x.wild.test/", false],
    ["http://api.example.test/", PROXY],
  ] as const)("%s: %p", (url, proxy) => {
    expect(proxyOf(url, { ...both, NO_PROXY: list })).toBe(proxy);
  });

  test.each(["*", "a.test,*", "  *  ", "*:443"])("%p covers everything", (noProxy) => {
    expect(proxyOf("https://anything.test/", { ...both, NO_PROXY: noProxy })).toBe(false);
  });

  test.each(["", ",", " , ", "10.0.0.0/99", "10.0.0.0/x", "/8", ".", "*.", "[", "]:80", ":80", "300.1.1.1/8"])(
    "%p covers nothing and harms nothing",
    (noProxy) => {
      expect(proxyOf("http://10.0.0.1/", { ...both, NO_PROXY: noProxy })).toBe(PROXY);
    },
  );

  test("the scheme's own port counts as named", () => {
    const env = { ...both, NO_PROXY: "a.test:443" };
    expect([proxyOf("https://a.test/", env), proxyOf("http://a.test/", env)]).toEqual([false, PROXY]);
  });

  test("a long list is read in one pass", async () => {
    const choose = (count: number) => {
      const names = Array.from({ length: count }, (_, index) => `h${index}.test`).join(",");
      return () => expect(proxyOf("http://a.test/", { ...both, NO_PROXY: names })).toBe(PROXY);
    };
    expect(await growth(choose, 1250)).toBeLessThan(8);
  });
});

describe("the proxy", () => {
  test("is chosen by scheme, lower-case names first, and an empty one means none", () => {
    const env = { HTTP_PROXY: "http://upper:1", http_proxy: "http://lower:2", HTTPS_PROXY: "http://secure:3" };
    expect(proxyOf("http://a.test/", env)).toBe("http://lower:2");
    expect(proxyOf("https://a.test/", env)).toBe("http://secure:3");
    expect(proxyOf("https://a.test/", { HTTP_PROXY: PROXY })).toBe(false);
    expect(proxyOf("http://a.test/", { HTTP_PROXY: PROXY, http_proxy: "" })).toBe(false);
    expect(proxyOf("http://a.test/", { ...both, NO_PROXY: "b.test", no_proxy: "a.test" })).toBe(false);
  });

  test("may be written without a scheme", () => {
    expect(proxyOf("http://a.test/", { HTTP_PROXY: "proxy.corp:3128" })).toBe("http://proxy.corp:3128");
  });

  test("of a kind we can't speak to is left out and warned of", () => {
    const env = { HTTPS_PROXY: "socks5://me:secret@127.0.0.1:1080", HTTP_PROXY: "http://[" };
    expect(proxyOf("https://a.test/", env)).toBe(false);
    expect(proxyOf("http://a.test/", env)).toBe(false);
    expect(networkWarnings(env)).toEqual([
      "HTTP_PROXY http://[ is not a URL: going without a proxy.",
      "HTTPS_PROXY socks5://***@127.0.0.1:1080 is no http or https proxy: going without it.",
    ]);
  });

  test("is always decided here, so that the runtime never reads its own variables", () => {
    expect(networkOptions("http://a.test/", {})).toEqual({ proxy: false });
    expect(networkOptions("no url", both)).toEqual({ proxy: false });
  });
});

describe("a password is never shown", () => {
  test.each([
    ["http://me:s3cret@proxy:3128", "http://***@proxy:3128/"],
    ["http://s3cret@proxy:3128/", "http://***@proxy:3128/"],
    ["http://proxy:3128", "http://proxy:3128"],
    ["me:s3cret@[broken", "***@[broken"],
    ["http://me:s3cret@[broken", "http://***@[broken"],
  ])("%s is shown as %s", (url, shown) => {
    expect(redactUrl(url)).toBe(shown);
  });

  test("in the description of the settings", () => {
    const env = { HTTPS_PROXY: "me:s3cret@proxy.corp:3128", NO_PROXY: ".corp" };
    expect(describeProxies(env)).toEqual({ http: null, https: "http://***@proxy.corp:3128/", bypass: ".corp" });
  });
});

describe("on the wire", () => {
  const openssl = Bun.which("openssl");
  const dir = mkdtempSync(join(tmpdir(), "shiro-net-"));
  const ca = join(dir, "ca.pem");
  let proxy: RecordingProxy;
  let plain: Bun.Server<undefined>;
  let secure: Bun.Server<undefined> | null = null;

  beforeAll(async () => {
    plain = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("direct") });
    if (openssl === null) console.error("SKIPPED: no openssl, so nothing is tested about certificates");
    else secure = serveWithOwnCa(openssl, dir);
    proxy = await startRecordingProxy(secure?.port ?? 1);
  });

  afterAll(async () => {
    proxy.close();
    await plain.stop(true);
    await secure?.stop(true);
    rmSync(dir, { recursive: true, force: true });
  });

  const proxyEnv = () => {
    const url = `http://us%40er:pa%3Ass@127.0.0.1:${proxy.port}`;
    return { HTTP_PROXY: url, HTTPS_PROXY: url, NO_PROXY: "example.com,.corp" };
  };
  const fromSource = [process.execPath, join(import.meta.dir, "support/network-probe.ts")];

  async function probe(command: readonly string[], urls: string[], env: Record<string, string>): Promise<string[]> {
    const child = Bun.spawn([...command, ...urls], { env: { PATH: process.env.PATH, ...env }, stderr: "ignore" });
    const answers: Record<string, string> = JSON.parse(await new Response(child.stdout).text());
    return urls.map((url) => answers[url] ?? "");
  }

  async function checkProxy(command: readonly string[]): Promise<void> {
    proxy.seen.length = 0;
    const local = [`http://127.0.0.1:${plain.port}/`, `http://localhost:${plain.port}/`];
    expect(await probe(command, [...local, "http://api.example.test/v1"], proxyEnv())).toEqual([
      "direct",
      "direct",
      "by proxy!",
    ]);
    expect(proxy.seen).toEqual(["GET http://api.example.test/v1 HTTP/1.1 us@er:pa:ss"]);
  }

  async function checkCertificates(command: readonly string[]): Promise<void> {
    const [here, there] = [`https://localhost:${secure?.port}/`, `https://api.example.test:${secure?.port}/`];
    const refused = "UNABLE_TO_VERIFY_LEAF_SIGNATURE";
    expect(await probe(command, [here, there], proxyEnv())).toEqual([refused, refused]);
    proxy.seen.length = 0;
    expect(await probe(command, [here, there], { ...proxyEnv(), SSL_CERT_FILE: ca })).toEqual(["secure", "secure"]);
    expect(proxy.seen).toEqual([`CONNECT api.example.test:${secure?.port} HTTP/1.1 us@er:pa:ss`]);
    expect(await probe(command, [here], { NODE_EXTRA_CA_CERTS: ca })).toEqual(["secure"]);
    const mixed = join(dir, "mixed.pem");
    expect(await probe(command, [here], { SSL_CERT_FILE: mixed })).toEqual(["secure"]);
  }

  test("loopback goes straight, the rest through the proxy with its user and password", async () => {
    await checkProxy(fromSource);
  });

  test("an own authority is trusted beside the built-in ones, through the proxy too", async () => {
    if (secure === null) return;
    await checkCertificates(fromSource);
  });

  test("the same holds in a compiled program", async () => {
    const outfile = join(dir, "probe");
    const built = Bun.spawnSync([process.execPath, "build", "--compile", fromSource[1] ?? "", "--outfile", outfile], {
      cwd: dir,
    });
    expect(built.exitCode).toBe(0);
    await checkProxy([outfile]);
    if (secure !== null) await checkCertificates([outfile]);
  });

  test("the built-in roots stay, and one list serves every request", () => {
    if (secure === null) return;
    const env = { SSL_CERT_FILE: ca };
    const list = networkOptions("https://a.test/", env).tls?.ca;
    expect(list?.slice(0, rootCertificates.length)).toEqual([...rootCertificates]);
    expect(list).toHaveLength(rootCertificates.length + 1);
    expect(networkOptions("https://b.test/", env).tls?.ca).toBe(list as string[]); // same object, not an equal one
    expect(networkWarnings(env)).toEqual([]);
  });

  test("a file that can't be used is a warning, and the built-in roots go on alone", () => {
    const missing = join(dir, "nope.pem");
    const empty = join(dir, "empty.pem");
    writeFileSync(empty, "hello");
    const env = { NODE_EXTRA_CA_CERTS: missing, SSL_CERT_FILE: empty };
    expect(networkOptions("https://a.test/", env)).toEqual({ proxy: false });
    expect(networkWarnings(env)).toEqual([
      `NODE_EXTRA_CA_CERTS ${missing}: there is no such file. Only the built-in certificates are trusted.`,
      `SSL_CERT_FILE ${empty}: no PEM certificate in it.`,
    ]);
    expect(networkWarnings({ SSL_CERT_FILE: dir })[0]).toContain("EISDIR");
  });

  test("a broken certificate is left out by itself", () => {
    if (secure === null) return;
    expect(networkWarnings({ SSL_CERT_FILE: join(dir, "mixed.pem") })).toEqual([
      `SSL_CERT_FILE ${join(dir, "mixed.pem")}: 1 of 2 certificates are unreadable.`,
    ]);
  });
});

function serveWithOwnCa(openssl: string, dir: string): Bun.Server<undefined> {
  const run = (...args: string[]) => {
    const done = Bun.spawnSync([openssl, ...args], { cwd: dir });
    if (done.exitCode !== 0) throw new Error(`openssl ${args[0]}: ${done.stderr}`);
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const days = ["-days", "30"];
  const root = ["-addext", "basicConstraints=critical,CA:TRUE"];
  run("req", "-x509", ...key, "-keyout", "ca.key", "-out", "ca.pem", ...days, "-subj", "/CN=Test root", ...root);
  run("req", ...key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=server");
  writeFileSync(join(dir, "names"), "subjectAltName=DNS:localhost,DNS:api.example.test");
  const signing = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", ...days, "-extfile", "names"];
  run("x509", "-req", "-in", "server.csr", "-out", "server.pem", ...signing);
  const broken = "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n";
  writeFileSync(join(dir, "mixed.pem"), broken + readFileSync(join(dir, "ca.pem"), "utf8"));
  const tls = { key: Bun.file(join(dir, "server.key")), cert: Bun.file(join(dir, "server.pem")) };
  return Bun.serve({ port: 0, hostname: "127.0.0.1", tls, fetch: () => new Response("secure") });
}
