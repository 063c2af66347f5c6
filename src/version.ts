/** The version, in one place for the program; scripts/release.ts checks it against package.json and the tag. */

export const VERSION = "0.1.0";
