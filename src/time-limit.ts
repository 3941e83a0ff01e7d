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
