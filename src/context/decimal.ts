const form = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/** The number that a text writes in decimal form, with or without an exponent; nothing for any other text or kind. */
export function parseDecimal(text: string): number | undefined {
  const number = form.test(text) ? Number(text) : Number.NaN
  return Number.isFinite(number) ? number : undefined
}
