/** How the cost of work grows with its input, for tests that mean "not with the square". CPU time of this process, since a busy machine makes a clock lie. Asserts nothing itself. */

/** What is measured; its input has been made before. */
type Work = () => unknown;

/** Shorter runs are repeated until they take this long: the collector would drown them. */
const LEAST_MICROSECONDS = 5000;
/** The first runs of a function are many times slower than those that its compiler has seen. */
const WARM_UP_MICROSECONDS = 40_000;
/** Two at least, five at most: long runs vary less. */
const ENOUGH_MICROSECONDS = 500_000;
/** Noise can't have hidden the square's 16 behind less, in two runs of the small, which the compiler had seen. */
const FAR_FROM_SQUARE = 7;

/**
 * By which factor the CPU time of work grows when `size` does by four: about 4 for linear work, 16 for quadratic.
 * Measured from `size` to sixteen times that, since one step may be the one at which a cache overflows. `prepare` makes
 * the input, unmeasured, and gives the work. That may be asynchronous; it is run many times, and the quickest counts.
 * Ends early where the factor is below `enough`; whoever expects less than 8 gives what they expect at most.
 */
export async function growth(
  prepare: (size: number) => Work,
  size: number,
  enough: number = FAR_FROM_SQUARE,
): Promise<number> {
  const [small, large] = [prepare(size), prepare(size * 16)];
  const repeats = { small: await repeatsFor(small), large: 1 };
  const factor = (): number => Math.sqrt(least.large / least.small);
  // A first run of the large costs more than later ones, so it may clear the work and never accuse it.
  const least = { small: await timeOf(small, repeats.small), large: await timeOf(large, 1) };
  least.small = Math.min(least.small, await timeOf(small, repeats.small));
  if (factor() < enough) return factor();
  repeats.large = await repeatsFor(large);
  let spent = 0;
  for (let round = 0; factor() >= enough && (round < 2 || (round < 5 && spent < ENOUGH_MICROSECONDS)); round++) {
    const taken = { small: await timeOf(small, repeats.small), large: await timeOf(large, repeats.large) };
    least.small = Math.min(least.small, taken.small);
    least.large = Math.min(least.large, taken.large);
    spent += taken.small * repeats.small + taken.large * repeats.large;
  }
  return factor();
}

/** Of one run. */
async function timeOf(work: Work, repeats: number): Promise<number> {
  return (await cpuTime(work, repeats)) / repeats;
}

/** Warms the work up and says how often it must run to be measurable. */
async function repeatsFor(work: Work): Promise<number> {
  let repeats = 1;
  let spent = 0;
  for (let taken = 0; taken < LEAST_MICROSECONDS || spent < WARM_UP_MICROSECONDS; spent += taken) {
    taken = await cpuTime(work, repeats);
    if (taken < LEAST_MICROSECONDS) repeats *= 2;
  }
  return repeats;
}

/** In microseconds; what the runtime's own threads do for the work is part of it. */
async function cpuTime(work: Work, repeats: number): Promise<number> {
  const before = process.cpuUsage();
  for (let run = 0; run < repeats; run++) await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}
