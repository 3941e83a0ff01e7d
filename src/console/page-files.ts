import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'

/** A file that the browser loads. */
export interface PageFile {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  /** A digest of the content, as text for `ETag`. */
  readonly digest: string
}

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
}

/**
 * The files of the console as the build has put them into a folder. All of them are read when the first one is asked for, and
 * are found by their names from then on: nothing that a client sends is ever part of a path.
 */
export class PageFiles {
  readonly #folder: string
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** Nothing for a name that is none of the files, and for all names where the console was not built. */
  async find(name: string): Promise<PageFile | undefined> {
    this.#files ??= read(this.#folder)
    const files = await this.#files
    // It may be built while the broker runs.
    if (files.size === 0) this.#files = undefined
    return files.get(name)
  }
}

async function read(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const names = new Set(await readdir(folder).catch(() => []))
  const files = [...names].flatMap((name) => {
    const contentType = contentTypes[extname(name)]
    return contentType === undefined || !names.has(`${name}.gz`) ? [] : [{ name, contentType }]
  })
  return new Map(
    await Promise.all(
      files.map(async ({ name, contentType }): Promise<readonly [string, PageFile]> => {
        const [plain, gzip] = await Promise.all([readFile(join(folder, name)), readFile(join(folder, `${name}.gz`))])
        const digest = createHash('sha256').update(plain).digest('base64url').slice(0, 22)
        return [name, { contentType, plain, gzip, digest }]
      }),
    ),
  )
}
