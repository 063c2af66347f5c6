/** Provider setup as a plain dialogue: preset, key, model; written to the configuration. Used by the first run and by /provider. */
import { writeConfig } from "./config.ts";
import type { Dialog } from "./dialog.ts";
import { ProviderError, UserError, messageOf } from "./errors.ts";
import type { ListedModel } from "./listing-facts.ts";
import { listModels, runningLocalServers } from "./listing.ts";
import { PRESETS, keyFromEnv, type Preset } from "./presets.ts";
import type { Endpoint } from "./provider.ts";
import { writeStore } from "./store.ts";

type Env = Readonly<Record<string, string | undefined>>;

export interface Chosen {
  endpoint: Endpoint;
  model: string;
}

/** Null when dismissed; nothing is written then. */
export async function setupDialogue(
  dialog: Dialog,
  print: (text: string) => void,
  env: Env,
  configPath: string,
): Promise<Chosen | null> {
  const preset = await choosePreset(dialog, env);
  if (preset === null) return null;
  const baseURL = preset.baseURL !== "" ? preset.baseURL : await askBaseURL(dialog, print);
  if (baseURL === null) return null;
  const key = await askKey(dialog, print, preset, env);
  if (key === null) return null;
  const endpoint: Endpoint = {
    protocol: preset.protocol,
    presetId: preset.id,
    baseURL,
    apiKey: key.value,
    headers: {},
    timeoutMs: null,
    forcedWire: null,
  };
  const model = await chooseModel(dialog, print, preset, endpoint, env);
  if (model === null) return null;
  await save(configPath, preset, baseURL, key.typed ? key.value : null, model);
  return { endpoint, model };
}

async function choosePreset(dialog: Dialog, env: Env): Promise<Preset | null> {
  const running = new Set(await runningLocalServers());
  return dialog.pick(
    "Which provider?",
    PRESETS.map((preset) => ({ value: preset, label: preset.label, detail: presetDetail(preset, running, env) })),
  );
}

function presetDetail(preset: Preset, running: ReadonlySet<string>, env: Env): string {
  const marks = [preset.baseURL.replace(/^https?:\/\//, "")];
  if (running.has(preset.id)) marks.push("running");
  const key = keyFromEnv(preset, env);
  if (key) marks.push(`${key.variable} is set`);
  return marks.filter(Boolean).join(", ");
}

async function askBaseURL(dialog: Dialog, print: (text: string) => void): Promise<string | null> {
  for (;;) {
    const text = (await dialog.line("Base URL:"))?.trim();
    if (!text) return null;
    if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
    print(`"${text}" is no http(s) URL.`);
  }
}

/** Null when dismissed; a null value is a server without a key. */
async function askKey(
  dialog: Dialog,
  print: (text: string) => void,
  preset: Preset,
  env: Env,
): Promise<{ value: string | null; typed: boolean } | null> {
  const found = keyFromEnv(preset, env);
  if (found) {
    print(`Using the key in ${found.variable}.`);
    return { value: found.key, typed: false };
  }
  const custom = preset.id.startsWith("custom-");
  if (preset.keyless && !custom) return { value: null, typed: false };
  const text = await dialog.secret(custom ? "Key, empty for none" : `${preset.label} key`);
  if (text === null || (text.trim() === "" && !custom)) return null;
  return { value: text.trim() || null, typed: true };
}

async function chooseModel(
  dialog: Dialog,
  print: (text: string) => void,
  preset: Preset,
  endpoint: Endpoint,
  env: Env,
): Promise<string | null> {
  const listed = await listedModels(print, endpoint, env);
  const ids = listed.length > 0 ? listed.map((model) => model.id) : [...preset.fallbackModels];
  if (ids.length === 0) return (await dialog.line("Model id:"))?.trim() || null;
  const other = "another, by its id";
  const picked = await dialog.pick(
    "Which model?",
    [...ids, other].map((id) => ({ value: id, label: id })),
  );
  if (picked !== other) return picked;
  return (await dialog.line("Model id:"))?.trim() || null;
}

async function listedModels(print: (text: string) => void, endpoint: Endpoint, env: Env): Promise<ListedModel[]> {
  try {
    return await listModels(endpoint, { env, signal: AbortSignal.timeout(20_000) });
  } catch (error) {
    if (!(error instanceof ProviderError) && !(error instanceof UserError)) throw error;
    // An endpoint without a list is still usable: the id is typed then.
    print(
      `The endpoint gave no list of models: ${messageOf(error)}${error instanceof ProviderError && error.hint ? ` (${error.hint})` : ""}`,
    );
    return [];
  }
}

async function save(
  configPath: string,
  preset: Preset,
  baseURL: string,
  apiKey: string | null,
  model: string,
): Promise<void> {
  const changes = { provider: preset.protocol, presetId: preset.id, baseURL, model, apiKey: apiKey ?? undefined };
  await writeConfig(configPath, changes, async (path, text) => {
    const problem = await writeStore(path, text);
    if (problem) throw new UserError(`The configuration was not saved: ${problem.reason}`, { kind: "config" });
  });
}
