/** The value of a JSON text of others, which is still to be checked; undefined for malformed JSON, which the caller reports. */
export function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Whether a value is a whole number from 0 to 2^53 - 1. */
export function isCount(raw: unknown): raw is number {
  return typeof raw === 'number' && Number.isSafeInteger(raw) && raw >= 0
}
