/** A refusal as the repairs ask about it: which parameter it names, and whether it rejects that altogether. */
import type { ProviderError } from "./errors.ts";

export class Complaint {
  readonly text: string;
  readonly code: string;
  readonly #parameter: string;
  constructor(error: ProviderError) {
    this.text = error.message;
    this.code = error.code ?? "";
    this.#parameter = error.parameter ?? "";
  }

  /** True when the complaint is about this parameter, by its field or as a word of its text. */
  names(parameter: string): boolean {
    if (this.#parameter === parameter || this.#parameter.startsWith(`${parameter}.`)) return true;
    return new RegExp(`(^|[^a-z_])${parameter}($|[^a-z_])`).test(this.text);
  }

  /** True when it says that something isn't taken at all. */
  get isRefusal(): boolean {
    if (/unsupported|unknown_parameter|invalid_parameter|unrecognized/i.test(this.code)) return true;
    return /unsupported|not support|unknown|unrecogni[sz]ed|unexpected|not permitted|not allowed|not available|extra (inputs|fields)|additional propert|cannot be (used|set|specified)|is invalid|invalid (value|parameter|field)|only allowed|deprecated|may not be/i.test(
      this.text,
    );
  }
}
