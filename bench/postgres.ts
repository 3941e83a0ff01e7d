import { execFileSync } from 'node:child_process'
import { chownSync, existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { DataFolder } from './broker-process.js'

/** Where Debian keeps the programs, by version. */
const debian = '/usr/lib/postgresql'

/**
 * What differs from a new installation, as an operator would set it for many small durable updates: memory for the data, a
 * log whose checkpoints are rare, nothing for replicas. Commits wait for the disk.
 */
const settings: Readonly<Record<string, string>> = {
  synchronous_commit: 'on',
  shared_buffers: '512MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  wal_buffers: '16MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  jit: 'off',
}

/** Who a program runs as. */
type User = { readonly uid: number; readonly gid: number } | Record<string, never>

/** The folder of PostgreSQL's programs, the newest version first; nothing where it is not installed. */
export function installedPostgres(versions = debian, path = process.env['PATH'] ?? ''): string | undefined {
  const newestFirst = (existsSync(versions) ? readdirSync(versions) : []).toSorted((a, b) => Number(b) - Number(a))
  const folders = [...newestFirst.map((version) => join(versions, version, 'bin')), ...path.split(delimiter)]
  return folders.find((folder) => ['initdb', 'pg_ctl', 'postgres'].every((name) => existsSync(join(folder, name))))
}

/** A database server with a new folder, reached by a socket in it. It ends with this process, and so does its folder. */
export class PostgresServer {
  /** The version, and the settings that are not the default ones. */
  readonly description: string
  /** The folder with the socket. */
  readonly host: string
  /** The owner of everything in it. */
  readonly user = 'bench'

  /** Blocks until the server answers; throws with what its programs say when it does not. */
  constructor(programs: string) {
    const folder = new DataFolder()
    const owner = unprivileged()
    if (owner.uid !== undefined) chownSync(folder.path, owner.uid, owner.gid)
    const data = join(folder.path, 'data')
    const run = (program: string, ...words: readonly string[]): string =>
      execFileSync(join(programs, program), words, { ...owner, cwd: folder.path, encoding: 'utf8', stdio: 'pipe' })
    run('initdb', '--no-sync', '-D', data, '-U', this.user, '--auth=trust', '--encoding=UTF8', '--no-locale')
    process.prependListener('exit', () => {
      // Before the folder is removed; there is nothing to keep.
      if (existsSync(join(data, 'postmaster.pid'))) run('pg_ctl', 'stop', '-D', data, '-m', 'immediate', '-w')
    })
    const given = Object.entries(settings).map(([name, value]) => `-c ${name}=${value}`)
    const log = join(folder.path, 'log')
    try {
      const flags = [`-k ${folder.path}`, `-c listen_addresses=''`, ...given].join(' ')
      run('pg_ctl', 'start', '-D', data, '-l', log, '-w', '-o', flags)
    } catch (cause) {
      throw new Error(existsSync(log) ? readFileSync(log, 'utf8') : 'PostgreSQL does not start', { cause })
    }
    this.host = folder.path
    const set = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
    const version = run('postgres', '--version').trim().replace('postgres (PostgreSQL)', 'PostgreSQL')
    this.description = `${version} with ${set.join(', ')}`
  }
}

/** PostgreSQL refuses to run as root: then it is a user of its own, or one who may do nothing. */
function unprivileged(): User {
  if (process.getuid?.() !== 0) return {}
  const users = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .map((line) => line.split(':'))
  const found = ['postgres', 'nobody'].flatMap((wanted) => users.filter(([name]) => name === wanted))
  const [[, , uid, gid] = []] = found
  if (uid === undefined || gid === undefined)
    throw new Error('there is no user postgres or nobody to run PostgreSQL as')
  return { uid: Number(uid), gid: Number(gid) }
}
