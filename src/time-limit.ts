/** What holds memory that others wait for: how fast a client has to take it, on average, behind the first seconds. */
const leastTaken = { bytes_per_s: 256 * 1024, free_ms: 5000 } as const

/** How long a client may take at most for so many bytes while others wait for their memory. */
export function mostTaking_ms(bytes: number): number {
  return leastTaken.free_ms + (1000 * bytes) / leastTaken.bytes_per_s
}

/**
 * Calls a function when a time is over, unless the function that it gives was called before. When the thread has stood still, what arrived
 * meanwhile is taken in first: it was in time. Keeps no process alive.
 */
export function whenOver(limit_ms: number, act: () => void): () => void {
  let taken: NodeJS.Immediate | undefined
  const timer = setTimeout(() => {
    taken = setImmediate(act)
  }, limit_ms)
  timer.unref()
  return () => {
    clearTimeout(timer)
    clearImmediate(taken)
  }
}
