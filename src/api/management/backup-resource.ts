import { setTimeout as sleep } from 'node:timers/promises'
import type { BackupRefusal, BackupService } from '../../broker/front-end/services.js'
import type { ApiResponse, Resource } from '../../broker/operations/api.js'
import { shortForm } from '../../broker/operations/response.js'
import type { Measures } from '../../observe/measure/measures.js'
import { archive_bytes, archived, type BackupPoint, backupContents } from '../../storage/archive/archive.js'
import { type ManagementParts, operation } from './parts.js'

/** A backup of all data at one moment, as an archive that is made while it is sent. */
export function backupResources({
  backups,
  measures,
}: Pick<ManagementParts, 'backups' | 'measures'>): readonly Resource[] {
  const get = operation('read', async ({ client }) => {
    const begun = await backups.begin()
    if (!begun.ok) return refusals[begun.error.kind]
    if (!client.gone) return archiveOf(begun.value, backups, new Pace(measures))
    await backups.end(begun.value.number, 0, 'givenUp')
    return { status: 200 }
  })
  return [{ pattern: '/admin/backup', anyCase: false, operations: { GET: get } }]
}

const refusals: Readonly<Record<BackupRefusal['kind'], ApiResponse>> = {
  underWay: shortForm(503, 'another backup is under way: try again when it is over'),
  notConfirmed: shortForm(
    503,
    'whether this node has all that was acknowledged is not known, since the owner of a partition did not confirm in time: try again when the nodes reach each other and etcd',
  ),
  unreadable: shortForm(503, 'a file of the data folder cannot be read: the log says which and why'),
  notApplied: shortForm(
    503,
    'storage full: the disk has no room for the last updates, which a backup would lack: make room and try again',
  ),
  notTogether: shortForm(503, 'the partitions did not stand still together in time: try again when less is under way'),
}

function archiveOf(point: BackupPoint, backups: BackupService, pace: Pace): ApiResponse {
  const contents = backupContents(point)
  const name = `rigel-backup-${contents.about.point.slice(0, 19).replaceAll(':', '')}Z.tar`
  return {
    status: 200,
    contentType: 'application/x-tar',
    headers: {
      'Content-Length': String(archive_bytes(contents)),
      'Content-Disposition': `attachment; filename="${name}"`,
    },
    stream: (gone) => paced(point.number, contents, backups, pace, gone),
  }
}

/** How often the service is told that the backup makes progress. */
const heartbeat_ms = 1000

async function* paced(
  backup: number,
  contents: ReturnType<typeof backupContents>,
  backups: BackupService,
  pace: Pace,
  gone: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let isOver = false
  let read_bytes = 0
  let sentAt_ms = performance.now()
  try {
    yield* archived({
      ...contents,
      readOn: async (bytes) => {
        read_bytes = bytes
        await pace.rest(bytes, gone)
        if (performance.now() - sentAt_ms < heartbeat_ms) return
        sentAt_ms = performance.now()
        if (!(await backups.goOn(backup, bytes))) throw new Error('the backup was given up')
      },
      allRead: async (bytes) => {
        isOver = true
        if (!(await backups.end(backup, bytes, 'copied'))) throw new Error('the backup was given up')
      },
    })
  } finally {
    if (!isOver) await backups.end(backup, read_bytes, 'givenUp')
  }
}

/** Most bytes that are read in a second: without requests, and beside them. */
const rates_bytes = { alone: 64 * 2 ** 20, beside: 16 * 2 ** 20 } as const
/** The shortest rest; shorter ones add up first. */
const rest_ms = 5

/** Keeps a backup at its rates, so that updates go on beside it. Time that a slow client has lost is not caught up. */
class Pace {
  readonly #measures: Measures
  #due_ms = performance.now()
  #read_bytes = 0

  constructor(measures: Measures) {
    this.#measures = measures
  }

  /** Rests until the next piece is due, after `read_bytes` in all. */
  async rest(read_bytes: number, gone: AbortSignal): Promise<void> {
    const now_ms = performance.now()
    const rate_bytes = rates_bytes[this.#measures.frontEnds.value('permits.taken') > 0 ? 'beside' : 'alone']
    this.#due_ms = Math.max(this.#due_ms, now_ms - rest_ms) + ((read_bytes - this.#read_bytes) / rate_bytes) * 1000
    this.#read_bytes = read_bytes
    if (this.#due_ms - now_ms >= rest_ms) await sleep(this.#due_ms - now_ms, undefined, { signal: gone })
  }
}
