import { get as httpGet, type IncomingMessage } from 'node:http'
import { get as httpsGet, type RequestOptions } from 'node:https'
import { text } from 'node:stream/consumers'
import { checkServerIdentity } from 'node:tls'
import { failureText } from '../../faults.js'
import { ownBroker, ownToken } from '../../flags/own-broker.js'
import { numberOf } from '../../number-of.js'
import type { Result } from '../../result.js'
import { archive_bytes, archived, backupContents, WrongArchive } from '../../storage/archive/archive.js'
import { formatVersion } from '../../storage/folder/folder-format.js'
import { now } from '../../time.js'
import { checkIsFree, receiveBackup } from './backup-folder.js'
import {
  type CommandArguments,
  CommandFailure,
  type CommandSurroundings,
  command,
  commandCodes,
  urlOf,
  WrongCommandLine,
} from './command.js'
import { type ConnectionFault, connectionFaultOf, firstCertificate, trustedWith } from './connection-fault.js'
import { interruptibly } from './interruption.js'
import { currentFiles, openFolder } from './offline-folder.js'
import { Progress, sizeText } from './progress.js'

const help = `Usage: rigel backup DIR [options]

Writes a backup of all data, as of one moment, to the folder DIR. DIR must be new or empty. By default the command takes the backup
from the broker that runs on this machine, while updates go on.

  --url URL        the management interface of the broker (that on this machine: RIGEL_ADMIN_PORT and RIGEL_ADMIN_IP, or
                   ORION_PORT and ORION_LOCALIP, by HTTPS if ORION_HTTPS is true)
  --token TOKEN    its token (RIGEL_ADMIN_TOKEN, or the first line of the file RIGEL_ADMIN_TOKEN_FILE)
  --ca FILE        the certificate to trust (PEM), if no public authority has issued the broker's: its own, or that of its issuer
  -dbPath FOLDER   the data folder of a stopped broker, instead of a URL

The exit code is 0 if DIR holds the whole backup and its checksums are right, 1 if there is no backup, and 2 for a wrong command
line. 'rigel restore DIR' restores the backup, 'rigel check DIR' checks it.
`

/** `rigel backup`: from a running broker or from the folder of a stopped one to a folder of its own. */
export const backupCommand = command({
  name: 'backup',
  help,
  values: ['url', 'token', 'ca', 'dbPath'],
  switches: [],
  positionals: ['DIR'],
  failed: 'no backup was made',
  run: async (given, { environment, output, errors }) => {
    const [folder] = given.positionals
    if (folder === undefined) throw new WrongCommandLine("rigel backup needs a folder: 'rigel help backup'")
    const open = sourceOf(given, environment)
    checkIsFree(folder)
    const source = await open()
    const begun_ms = performance.now()
    const progress = new Progress('backup', 'bytes', source.bytes, errors)
    try {
      const manifest = await interruptibly((interrupted) =>
        receiveBackup({ ...source, pieces: untilInterrupted(source, interrupted) }, folder, (bytes) =>
          progress.add(bytes),
        ),
      )
      progress.end()
      const bytes = manifest.files.reduce((sum, file) => sum + file.bytes, 0)
      const took_s = ((performance.now() - begun_ms) / 1000).toFixed(1)
      output.write(
        `${folder}: backup of ${manifest.point}, ${numberOf(manifest.partitions, 'partition')}, ${sizeText(bytes)}, in ${took_s} s\n`,
      )
      return commandCodes.done
    } finally {
      progress.end()
      await source.close()
    }
  },
})

/** The pieces of the source, until a signal comes. */
async function* untilInterrupted(source: Source, interrupted: AbortSignal): AsyncIterable<Uint8Array> {
  interrupted.throwIfAborted()
  interrupted.addEventListener('abort', () => source.interrupt?.(), { once: true })
  for await (const piece of source.pieces) {
    interrupted.throwIfAborted()
    yield piece
  }
}

/** Reads where the backup comes from; the function that it returns opens it. Throws `WrongCommandLine`. */
function sourceOf(given: CommandArguments, environment: CommandSurroundings['environment']): () => Promise<Source> {
  const dbPath = given.value('dbPath')
  const url = urlOf(given)
  if (dbPath !== undefined) {
    if (url !== undefined) throw new WrongCommandLine('rigel backup takes either --url or -dbPath')
    return () => ofFolder(dbPath)
  }
  const own = url === undefined ? right(ownBroker(environment)) : undefined
  const address = new URL(`${url ?? own?.management}/admin/backup`)
  const token = given.value('token') ?? right(ownToken(environment))
  const ca = given.value('ca')
  const cert = ca === undefined ? own?.cert : undefined
  return () => ofBroker(address, token, ca === undefined ? ownTrust(cert) : { ca: trustedWith(ca, '--ca') })
}

/** What was read of the variables. Throws `WrongCommandLine` for a mistake in them. */
function right<Value>(read: Result<Value, string>): Value {
  if (!read.ok) throw new WrongCommandLine(read.error)
  return read.value
}

/** How the certificate of a broker is checked. */
type Trust = Pick<RequestOptions, 'ca' | 'checkServerIdentity' | 'allowPartialTrustChain'>

/** Trusts the certificate in the file of the broker of this machine, whichever names it is for. Throws `CommandFailure`. */
function ownTrust(file: string | undefined): Trust {
  if (file === undefined) return {}
  const ca = trustedWith(file, 'ORION_HTTPS_CERTFILE')
  const own = firstCertificate(ca.at(-1) ?? '')
  return {
    ca,
    allowPartialTrustChain: true, // Where the version of Node knows it, the issuer need not be known.
    checkServerIdentity: (host, shown) =>
      own?.raw.equals(shown.raw) === true ? undefined : checkServerIdentity(host, shown),
  }
}

/** Longest silence of the broker. */
const silence_ms = 60_000

interface Source {
  readonly pieces: AsyncIterable<Uint8Array>
  readonly bytes: number | undefined
  /** Ends the pieces of a source that may be silent for long. */
  interrupt?(): void
  close(): Promise<void>
}

async function ofBroker(address: URL, token: string | undefined, trust: Trust): Promise<Source> {
  const response = await responseOf(address, token, trust)
  if (response.statusCode !== 200) throw new CommandFailure(await refusalOf(response, address))
  const length = Number(response.headers['content-length'] ?? Number.NaN)
  return {
    pieces: whole(response),
    bytes: Number.isSafeInteger(length) ? length : undefined,
    interrupt: () => response.destroy(),
    close: async () => void response.destroy(),
  }
}

/** Uses Node's own client, since the response is long and read as it arrives. */
async function responseOf(address: URL, token: string | undefined, trust: Trust): Promise<IncomingMessage> {
  const headers = token === undefined ? {} : { Authorization: `Bearer ${token}` }
  const options = { headers, timeout: silence_ms, ...trust }
  const get = address.protocol === 'https:' ? httpsGet : httpGet
  try {
    return await new Promise((resolve, reject) => {
      get(address, options, resolve)
        .on('timeout', function (this: { destroy(fault: Error): void }) {
          this.destroy(new Error(`nothing came for ${silence_ms / 1000} s`))
        })
        .on('error', reject)
    })
  } catch (fault) {
    throw new CommandFailure(`${address} cannot be reached${unreachedText(await connectionFaultOf(address, fault))}`)
  }
}

function unreachedText({ kind, text }: ConnectionFault): string {
  if (kind === 'otherProtocol' || kind === 'certificate') return `: ${text}`
  const advice =
    kind === 'trust'
      ? '--ca FILE names the certificate to trust'
      : 'is the broker running? For a stopped one use -dbPath'
  return ` (${text}): ${advice}`
}

async function refusalOf(response: IncomingMessage, address: URL): Promise<string> {
  const { statusCode } = response
  const message = (await text(response)).slice(0, 500)
  return `${address} answered ${statusCode}${adviceOn(statusCode, message)} ${message}`
}

function adviceOn(status: number | undefined, message: string): string {
  if (status === 401) return ': give its token with --token or RIGEL_ADMIN_TOKEN'
  // As a broker with -adminPort answers where it serves clients.
  const isElsewhere = status === 404 || message.includes('service not found')
  return isElsewhere
    ? ': the management may be on a port of its own (-adminPort), which --url or RIGEL_ADMIN_PORT names'
    : ''
}

/** The pieces of a body. Throws `WrongArchive` if it breaks off. */
async function* whole(body: IncomingMessage): AsyncGenerator<Uint8Array, void> {
  try {
    for await (const piece of body) yield piece
  } catch (fault) {
    throw new WrongArchive(`the broker did not send all of it (${failureText(fault)}): its log says why`)
  }
}

/** The data folder of a stopped broker, brought up to date with its logs. */
async function ofFolder(dbPath: string): Promise<Source> {
  const folder = await openFolder(dbPath)
  try {
    const contents = backupContents({
      ...(await currentFiles(folder)),
      folder: folder.id,
      format: formatVersion,
      time: now(),
    })
    const nothing = async (): Promise<void> => {}
    return {
      pieces: archived({ ...contents, readOn: nothing, allRead: nothing }),
      bytes: archive_bytes(contents),
      close: async () => folder.release(),
    }
  } catch (fault) {
    folder.release()
    throw fault
  }
}
