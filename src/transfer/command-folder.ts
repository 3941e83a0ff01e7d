import { flags } from '../command-line/flags.js'
import type { CommandArguments } from '../offline/command-arguments.js'
import { CommandFailure } from '../offline/command-result.js'
import type { BrokerAddress } from './online/broker-connection.js'
import type { FolderOpening } from './stored-folder.js'

/** Something was not taken, or not as a whole: what such commands end with, beside the codes of all of them. */
export const notAllTaken = 3

/** The options of commands that open a data folder, named as the flags of the broker. */
export const folderValues = ['dbPath', 'dbSizeMax'] as const

/** What the help says of them. */
export const folderHelp = `  -dbPath FOLDER        the data folder of a broker that does not run (${flags.dbPath.default})
  -dbSizeMax MIB        most that a partition of it may take (${flags.dbSizeMax.default})`

/** How the options say that the folder is to be opened; `make` tells whether a new one may be made. Throws `CommandFailure`. */
export function openingOf(given: CommandArguments, make: FolderOpening['make']): FolderOpening {
  const sizeMax_MiB = positiveInteger(given, 'dbSizeMax') ?? flags.dbSizeMax.default
  return {
    path: given.value('dbPath') ?? flags.dbPath.default,
    make,
    sizeMax_bytes: sizeMax_MiB * 2 ** 20,
    keepFree_bytes: flags.dbFreeMin.default * 2 ** 20,
  }
}

/** The broker that options name; nothing when they name a folder. Throws `CommandFailure`. */
export function brokerAddressOf(given: CommandArguments): BrokerAddress | undefined {
  const url = given.value('url')
  if (url === undefined) return undefined
  if (!/^https?:/.test(url) || !URL.canParse(url))
    throw new CommandFailure(`--url: '${url}' is no URL of http or https`)
  return { url, token: given.value('token') }
}

/** The number behind an option; nothing when it is not given. Throws `CommandFailure`. */
export function positiveInteger(given: CommandArguments, name: string): number | undefined {
  const text = given.value(name)
  if (text === undefined) return undefined
  const number = Number(text)
  if (!/^\d{1,9}$/.test(text) || number === 0) throw new CommandFailure(`-${name}: '${text}' is no positive integer`)
  return number
}
