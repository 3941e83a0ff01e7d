import type { EntityType, Tenant } from '../../model/context/entity.js'
import type { PathRange } from '../../model/context/query.js'
import { parseServicePaths, parseTenant } from '../../model/context/scope-headers.js'
import { type CommandArguments, command, commandCodes, WrongCommandLine } from '../offline/command.js'
import { interruptibly } from '../offline/interruption.js'
import { type FolderOpening, StoredFolder } from '../offline/offline-folder.js'
import { Progress, type ProgressOutput } from '../offline/progress.js'
import { brokerAddressOf, folderHelp, folderValues, openingOf } from './command-folder.js'
import { type ExportFilter, storedItems, writeExport } from './export-file.js'
import { countsText, type ItemKind, itemKinds } from './items.js'
import type { BrokerAddress } from './online/broker-connection.js'
import { brokerItems } from './online/broker-items.js'

const help = `Usage: rigel export FILE|- [options]

Writes the data of a stopped or a running broker as JSON lines; - is the standard output.

${folderHelp}
  --url URL             a running broker with NGSIv2, of any make, instead of a folder: what that shows of one tenant
  --token TOKEN         its key, sent as X-Auth-Token
  --tenant NAME         only this tenant ('' is the default tenant)
  --path PATH           only this service path; /a/# is /a and all below it
  --type TYPE           only entities of this type, and everything else
  --kind KINDS          only these kinds, separated by commas: ${itemKinds.join(', ')}

The exit code is 0 if everything was written, 1 if not, and 2 for a wrong command line. 'rigel import FILE' reads the export.
`

/** `rigel export`: from the folder of a stopped broker, or from a running one, to a file. */
export const exportCommand = command({
  name: 'export',
  help,
  values: [...folderValues, 'url', 'token', 'tenant', 'path', 'type', 'kind'],
  switches: [],
  positionals: ['FILE'],
  failed: 'nothing was exported',
  run: async (given, { errors }) => {
    const [file] = given.positionals
    if (file === undefined) throw new WrongCommandLine("rigel export needs a file to write, or -: 'rigel help export'")
    const filter = filterOf(given)
    const address = brokerAddressOf(given)
    if (address === undefined) await exported(openingOf(given, false), file, filter, errors)
    else await exportedFrom(address, file, filter, errors)
    return commandCodes.done
  },
})

async function exported(
  opening: FolderOpening,
  file: string,
  filter: ExportFilter,
  errors: ProgressOutput,
): Promise<void> {
  const stored = await StoredFolder.open(opening)
  const progress = new Progress('export', 'records', stored.entityCount, errors)
  try {
    const counts = await interruptibly((interrupted) =>
      writeExport(file, storedItems(stored, filter), shownBy(progress, interrupted), interrupted),
    )
    progress.end()
    errors.write(`exported: ${countsText(counts)}\n`)
  } finally {
    progress.end()
    await stored.close()
  }
}

async function exportedFrom(
  address: BrokerAddress,
  file: string,
  filter: ExportFilter,
  errors: ProgressOutput,
): Promise<void> {
  const progress = new Progress('export', 'records', undefined, errors)
  const lost: string[] = []
  try {
    const counts = await interruptibly((interrupted) => {
      const items = brokerItems({ ...address, interrupted }, filter, (what, reason) => lost.push(`${what}: ${reason}`))
      return writeExport(file, items, shownBy(progress, interrupted), interrupted)
    })
    progress.end()
    errors.write(`exported: ${countsText(counts)}\n`)
    for (const line of [...lost, notShown]) errors.write(`${line}\n`)
  } finally {
    progress.end()
  }
}

/** Shows how many items are written, and ends an export that was interrupted. */
function shownBy(progress: Progress, interrupted: AbortSignal): (items: number) => void {
  return (items) => {
    interrupted.throwIfAborted()
    progress.at(items)
  }
}

const notShown =
  'NGSIv2 does not show: other tenants, further instances of an attribute, the paths of subscriptions and registrations (that of --path is taken), subscriptions by the clock and to registrations, and how deliveries went'

function filterOf(given: CommandArguments): ExportFilter {
  const names = given.value('kind')?.split(',') ?? itemKinds
  const unknown = names.find((name) => !itemKinds.some((kind) => kind === name))
  if (unknown !== undefined) throw new WrongCommandLine(`--kind: '${unknown}' is none of ${itemKinds.join(', ')}`)
  return {
    tenant: tenantOf(given.value('tenant')),
    path: rangeOf(given.value('path')),
    type: given.value('type') as EntityType | undefined, // Any text: no entity may have that type.
    kinds: new Set<ItemKind>(itemKinds.filter((kind) => names.includes(kind))),
  }
}

function tenantOf(text: string | undefined): Tenant | undefined {
  if (text === undefined) return undefined
  const tenant = parseTenant(text, true)
  if (!tenant.ok) throw new WrongCommandLine(`--tenant: ${tenant.error}`)
  return tenant.value
}

function rangeOf(text: string | undefined): PathRange | undefined {
  if (text === undefined) return undefined
  const paths = parseServicePaths(text, 'one')
  if (!paths.ok) throw new WrongCommandLine(`--path: ${paths.error}`)
  if (paths.value.length !== 1) throw new WrongCommandLine('--path: name one service path')
  return paths.value[0]
}
