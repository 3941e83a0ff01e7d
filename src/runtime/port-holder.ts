import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** A process that listens on a port. */
export interface PortHolder {
  readonly pid: number
  readonly command: string
}

/** The state of a listening socket in the kernel's tables. */
const listening = '0A'

/**
 * The process that listens on a TCP port of this machine, or undefined when it cannot be known: the sockets of other
 * users are hidden, and only Linux has these tables.
 */
export function portHolder(port: number): PortHolder | undefined {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listeningSockets(join('/proc/net', table), port)))
  if (sockets.size === 0) return undefined
  for (const process of listed('/proc').filter((name) => /^\d+$/.test(name))) {
    const handles = join('/proc', process, 'fd')
    if (listed(handles).some((handle) => sockets.has(linkOf(join(handles, handle))))) {
      return { pid: Number(process), command: textOf(join('/proc', process, 'comm')).trim() }
    }
  }
  return undefined
}

/** The sockets of a table that listen on a port, as the links of descriptors name them. */
function listeningSockets(table: string, port: number): readonly string[] {
  const [, ...rows] = textOf(table).split('\n')
  return rows.flatMap((row) => {
    const [, local = '', , state, , , , , , inode] = row.trim().split(/\s+/)
    const isMeant = state === listening && Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16) === port
    return isMeant ? [`socket:[${inode}]`] : []
  })
}

// A process and its files may disappear during the search: an unreadable folder counts as empty.

function listed(folder: string): readonly string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function linkOf(file: string): string {
  try {
    return readlinkSync(file)
  } catch {
    return ''
  }
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
