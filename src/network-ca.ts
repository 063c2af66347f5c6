/** Reads the certificates a user wants trusted beside the built-in ones. Knows nothing of requests. */
import { readFileSync } from "node:fs";
import { errnoOf } from "./errors.ts";

export interface ExtraCertificates {
  /** PEM, one certificate each. */
  certificates: string[];
  warnings: string[];
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The usable certificates of the files, and a line for each file or certificate that is not. Never throws. */
export function loadExtraCertificates(files: readonly { variable: string; path: string }[]): ExtraCertificates {
  const loaded = files.map(loadFile);
  return {
    certificates: loaded.flatMap((each) => each.certificates),
    warnings: loaded.flatMap((each) => each.warnings),
  };
}

function loadFile({ variable, path }: { variable: string; path: string }): ExtraCertificates {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const reason = errnoOf(error) === "ENOENT" ? "there is no such file" : `it cannot be read (${errnoOf(error)})`;
    return {
      certificates: [],
      warnings: [`${variable} ${path}: ${reason}. Only the built-in certificates are trusted.`],
    };
  }
  return readCertificates(text, `${variable} ${path}`);
}

function readCertificates(text: string, where: string): ExtraCertificates {
  const blocks = text.match(PEM) ?? [];
  // One bad certificate in the list makes Bun fail every connection with a message about a typo in the URL.
  const certificates = blocks.filter(isCertificate);
  const bad = blocks.length - certificates.length;
  if (blocks.length === 0) return { certificates, warnings: [`${where}: no PEM certificate in it.`] };
  return {
    certificates,
    warnings: bad === 0 ? [] : [`${where}: ${bad} of ${blocks.length} certificates are unreadable.`],
  };
}

function isCertificate(pem: string): boolean {
  try {
    new (process.getBuiltinModule("node:crypto").X509Certificate)(pem);
    return true;
  } catch {
    return false;
  }
}
