/**
 * The moment at which something was sent, as a number of nine digits that fits where `fresh` stands: microseconds of the
 * monotonic clock, which all processes of a machine share. It comes round every fifteen minutes.
 */
const first = 100_000_000
const round = 900_000_000

/** The stamp of now. */
export function stamp(): number {
  return first + Number((process.hrtime.bigint() / 1000n) % BigInt(round))
}

/** How long ago a stamp was made, in ms. */
export function sinceStamp_ms(made: number): number {
  return ((stamp() - made + round) % round) / 1000
}
