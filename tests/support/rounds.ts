/** How often random tests try: often enough in every run, and as often as one has patience for with SHIRO_TEST_FULL=1. Draws nothing itself. */

/** The first where the suite is run as usual, the second where everything is asked for. */
export function rounds(usual: number, full: number): number {
  return (process.env.SHIRO_TEST_FULL ?? "") === "" ? usual : full;
}
