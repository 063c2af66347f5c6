/** When two notes say the same, and when they speak of the same thing and differ. Pure word comparison; understands nothing. */

/** The letters and digits of a note: what is left when case, spacing and punctuation don't count. */
export function normalised(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "");
}

const SHARED_SHARE = 0.7;

/** True when two different notes have their subject in common, or nearly all the words of the shorter one. */
export function conflictsWith(older: string, newer: string): boolean {
  if (normalised(older) === normalised(newer)) return false;
  const subject = subjectOf(older);
  if (subject !== "" && subject === subjectOf(newer)) return true;
  const [left, right] = [wordsOf(older), wordsOf(newer)];
  const shared = left.intersection(right).size;
  return shared >= 2 && shared / Math.min(left.size, right.size) >= SHARED_SHARE;
}

const VERBS =
  /\b(?:is|are|was|were|be|has|have|uses|use|runs|run|lives|live|needs|need|must|should|can|cannot|goes|go|comes|come|starts|start|takes|take|returns|return|expects|expect)\b|[:=]/;

/** The words before the first verb, where there are any. */
function subjectOf(text: string): string {
  const head = text.toLowerCase().split(VERBS, 1)[0] ?? "";
  // Without a verb the head is the whole note, which is no subject.
  return head.length === text.length ? "" : [...wordsOf(head)].toSorted().join(" ");
}

const COMMON = new Set(
  "a an and any as at but by for from if in into it its not of on one only or so than that the their then there they this to we when where which with you your our all also".split(
    " ",
  ),
);

function wordsOf(text: string): Set<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
  return new Set(words.filter((word) => !COMMON.has(word)));
}
