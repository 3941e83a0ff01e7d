import type { ValueKind } from '../../flags/flag.js'
import { flags } from '../../flags/flags.js'
import { type CommandArguments, urlOf, WrongCommandLine } from '../offline/command.js'
import type { FolderOpening } from '../offline/offline-folder.js'
import type { BrokerAddress } from './online/broker-connection.js'

/** The exit code of an import that left items, or parts of items, out. */
export const notAllTaken = 3

/** The options of commands that open a data folder, named like the flags of the broker. */
export const folderValues = ['dbPath', 'dbSizeMax'] as const

/** Their lines of the help. */
export const folderHelp = `  -dbPath FOLDER        the data folder of a stopped broker (${flags.dbPath.default})
  -dbSizeMax MIB        the size to which a partition may grow, ${flags.dbSizeMax_MiB.takes.shown} (${flags.dbSizeMax_MiB.default})`

/** The numbers of partitions that a folder may have, for the help. */
export const partitionsRange = flags.partitions.takes.shown

/** How to open the folder, by the options; `make` says whether a missing one is made. Throws `WrongCommandLine`. */
export function openingOf(given: CommandArguments, make: FolderOpening['make']): FolderOpening {
  const sizeMax_MiB = flagValueOf(given, 'dbSizeMax', flags.dbSizeMax_MiB.takes) ?? flags.dbSizeMax_MiB.default
  return {
    path: given.value('dbPath') ?? flags.dbPath.default,
    make,
    sizeMax_bytes: sizeMax_MiB * 2 ** 20,
    keepFree_bytes: flags.dbFreeMin_MiB.default * 2 ** 20,
  }
}

/** The broker of the option `--url`; undefined without it. Throws `WrongCommandLine`. */
export function brokerAddressOf(given: CommandArguments): BrokerAddress | undefined {
  const url = urlOf(given)
  if (url === undefined) return undefined
  const ofFolder = ['dbPath', 'dbSizeMax', 'partitions'].find((name) => given.value(name) !== undefined)
  if (ofFolder !== undefined) throw new WrongCommandLine(`--url means a broker, -${ofFolder} a folder: leave one out`)
  return { url, token: given.value('token') }
}

/** The number of partitions by the option; undefined without it. Throws `WrongCommandLine`. */
export function partitionsOf(given: CommandArguments): number | undefined {
  return flagValueOf(given, 'partitions', flags.partitions.takes)
}

/** The value of an option that is also a flag of the broker, which takes the same values. */
function flagValueOf<Value>(given: CommandArguments, name: string, takes: ValueKind<Value>): Value | undefined {
  const text = given.value(name)
  if (text === undefined) return undefined
  const value = takes.parse(text)
  if (!value.ok) throw new WrongCommandLine(`-${name}: '${text}' ${value.error}`)
  return value.value
}
