import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** The library that shifts the clock of a process by what stands in a file; `apt-get install libfaketime` brings it. */
const library = ['/usr/lib', '/usr/lib64', '/usr/local/lib']
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))])
  .map((folder) => join(folder, 'faketime', 'libfaketimeMT.so.1'))
  .find((file) => existsSync(file))

/** Why tests that shift the clock of a process are left out; false where that can be done. */
export const noFaketime: string | false = library === undefined && 'libfaketime is not installed'

/**
 * A clock of the day that a test shifts, of the processes that have its environment: about a second later. The waits of their threads take
 * several times as much of a processor.
 */
export class ShiftedClock {
  readonly #file: string
  #isOn: boolean

  /**
   * Right, until it is shifted: by what stands in this file.
   *
   * @param isOn whether a process that starts with its environment has it; else one that starts after `turnOn`
   */
  constructor(file: string, isOn = true) {
    this.#file = file
    this.#isOn = isOn
    this.shift('+0')
  }

  /** By a number with its sign, in seconds or followed by a unit, such as `-2h`. */
  shift(by: string): void {
    writeFileSync(this.#file, by)
  }

  get isOn(): boolean {
    return this.#isOn
  }

  turnOn(): void {
    this.#isOn = true
  }

  get environment(): Readonly<Record<string, string>> {
    if (library === undefined || !this.#isOn) return {}
    return {
      LD_PRELOAD: library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_CACHE_DURATION: '1',
      // Only the wall clock jumps: the system keeps the other one steady.
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }
  }
}
