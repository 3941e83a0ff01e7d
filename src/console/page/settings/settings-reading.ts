import { type Reader, readList, readMap, readMembers, readNumber, readText } from '../raw.js'

/** A flag, as it is set. */
export interface ShownSetting {
  readonly flag: string
  readonly value: string
  /** `default`, `command line` or the name of a variable. */
  readonly source: string
  readonly byDefault: string
  readonly takes: string
  readonly meaning: string
  readonly group: string
}

/** What `/admin/config` says. */
export interface Configuration {
  readonly version: string
  readonly gitHash: string
  /** Versions by name. */
  readonly libraries: ReadonlyMap<string, string>
  readonly dataFolder: {
    readonly path: string
    readonly format: number
    readonly partitions: number
    readonly used_bytes: number
  }
  readonly settings: readonly ShownSetting[]
}

/** Reads `/admin/config`. */
export const readConfiguration: Reader<Configuration> = readMembers({
  version: readText,
  gitHash: readText,
  libraries: readMap(readText),
  dataFolder: readMembers({ path: readText, format: readNumber, partitions: readNumber, used_bytes: readNumber }),
  settings: readList(
    readMembers({
      ...{ flag: readText, value: readText, source: readText, byDefault: readText, takes: readText },
      ...{ meaning: readText, group: readText },
    }),
  ),
})
