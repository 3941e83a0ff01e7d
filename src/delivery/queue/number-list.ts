/** The bytes of a list that has few numbers. */
const least_bytes = 16

/**
 * Ascending numbers, first in, first out, in two or three bytes each: of a number its distance from the one before it is kept, seven
 * bits to a byte, the last byte of each below 128.
 */
export class NumberList {
  #bytes = new Uint8Array(least_bytes)
  #head = 0
  #tail = 0
  #size = 0
  /** The first one, and the last. */
  #first = 0
  #last = 0

  get size(): number {
    return this.#size
  }

  /** The lowest number; undefined of an empty list. */
  get first(): number | undefined {
    return this.#size === 0 ? undefined : this.#first
  }

  /** Adds a number that is greater than all others. */
  push(number: number): void {
    if (this.#size === 0) this.#first = number
    else this.#write(number - this.#last)
    this.#last = number
    this.#size += 1
  }

  /** Removes and returns the lowest number. */
  shift(): number | undefined {
    if (this.#size === 0) return undefined
    const number = this.#first
    this.#size -= 1
    if (this.#size > 0) this.#first += this.#read()
    else this.#clear()
    return number
  }

  /** Puts ascending numbers, all lower, before the others. */
  putBefore(numbers: readonly number[]): void {
    const { first } = this
    const [size, last] = [this.#size, this.#last]
    const distances = this.#bytes.slice(this.#head, this.#tail)
    this.#size = 0
    this.#clear()
    for (const number of numbers) this.push(number)
    if (first === undefined) return
    this.push(first)
    const joined = new Uint8Array(this.#tail + distances.length + least_bytes)
    joined.set(this.#bytes.subarray(0, this.#tail))
    joined.set(distances, this.#tail)
    this.#bytes = joined
    this.#tail += distances.length
    this.#size += size - 1
    this.#last = last
  }

  #clear(): void {
    this.#head = 0
    this.#tail = 0
    if (this.#bytes.length > least_bytes) this.#bytes = new Uint8Array(least_bytes)
  }

  #write(distance: number): void {
    // A number takes at most eight bytes.
    if (this.#tail + 8 > this.#bytes.length) this.#makeRoom()
    let left = distance
    while (left >= 128) {
      this.#bytes[this.#tail] = 128 + (left % 128)
      this.#tail += 1
      left = Math.floor(left / 128)
    }
    this.#bytes[this.#tail] = left
    this.#tail += 1
  }

  #read(): number {
    let distance = 0
    for (let factor = 1; ; factor *= 128) {
      const byte = this.#bytes[this.#head] ?? 0
      this.#head += 1
      distance += (byte % 128) * factor
      if (byte < 128) return distance
    }
  }

  /** Moves what is left to the front, into twice the space where it takes more than half of it. */
  #makeRoom(): void {
    const used = this.#bytes.subarray(this.#head, this.#tail)
    if (used.length * 2 <= this.#bytes.length) this.#bytes.copyWithin(0, this.#head, this.#tail)
    else {
      const larger = new Uint8Array(2 * this.#bytes.length)
      larger.set(used)
      this.#bytes = larger
    }
    this.#tail -= this.#head
    this.#head = 0
  }
}
