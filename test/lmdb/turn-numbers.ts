/** Numbers by chance from 0 to 2^32 - 1 for a turn: the same each time that they are asked for. */
export function numbersOf(turn: number): () => number {
  let state = Math.imul(turn, 0x9e3779b1)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    const mixed = Math.imul(state ^ (state >>> 15), state | 1)
    return (mixed ^ (mixed >>> 14)) >>> 0
  }
}
