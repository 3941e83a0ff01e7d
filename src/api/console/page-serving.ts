import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import type { IncomingHttpHeaders } from 'node:http'
import { extname, join } from 'node:path'
import {
  type ApiRequest,
  type ApiResponse,
  type Operation,
  type Resource,
  segment,
} from '../../broker/operations/api.js'
import { json, shortForm } from '../../broker/operations/response.js'
import { consoleRoute } from '../../observe/measure/counted-routes.js'
import { ok } from '../../result.js'
import type { ConsoleFacts } from './shapes.js'

const place = '/console'

/** The page that names all other files. Its name is the same in each version, so browsers have to revalidate it. */
const index = 'index.html'

/**
 * Tells the page whether the management needs a token, since a trial without one would count as a failed sign-in, what it may
 * not read from where it is, since a trial would count as bad input, and whether the broker is part of a cluster, which has a page of
 * its own.
 */
const access = 'access.json'

/**
 * The files of the console, which hold no secret and need no token, and a redirection to it for browsers that open the
 * port itself [console: how it is served].
 */
export function consoleResources(files: PageFiles, facts: Omit<ConsoleFacts, 'mayReadAll'>): readonly Resource[] {
  const factsFor = ({ client }: ApiRequest): ApiResponse => {
    const shown: ConsoleFacts = { ...facts, mayReadAll: client.isTrusted }
    return { ...json(shown), headers: { 'Cache-Control': 'no-store' } }
  }
  const named = reading(async (request) => {
    const name = segment(request, 'file')
    if (name === access) return factsFor(request)
    const file = name === index ? undefined : await files.find(name)
    return file === undefined ? shortForm(404, 'the console has no such file') : fileResponse(file, request, 'forever')
  })
  const opened = reading(async (request) => {
    const file = await files.find(index)
    return file === undefined ? notBuilt : fileResponse(file, request, 'checked')
  })
  const lead = reading(async () => ({ status: 302, headers: { Location: place, 'Cache-Control': 'no-cache' } }))
  const everybody = { anyCase: false, polled: true, forPeople: 'everybody' } as const
  const countedAs = consoleRoute.pattern
  return [
    { pattern: place, countedAs, ...everybody, operations: { GET: opened } },
    { pattern: `${place}/{file}`, countedAs, ...everybody, operations: { GET: named } },
    { ...everybody, pattern: '/', aliases: ['/favicon.ico'], forPeople: 'navigation', operations: { GET: lead } },
  ]
}

const notBuilt: ApiResponse = {
  status: 503,
  contentType: 'text/plain; charset=utf-8',
  headers: { 'Cache-Control': 'no-store' },
  body: `The console is not part of this installation, since it was built without development packages.
The package of npm and the image bring it. In a clone of the sources, "npm ci && npm run build" makes it.
Everything that it shows can be read without it: see /docs.
`,
}

/** Content of the same origin only, no framing, and no text that becomes code. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const cacheControl = { forever: 'public, max-age=31536000, immutable', checked: 'no-cache' } as const

function fileResponse(file: PageFile, { headers }: ApiRequest, kept: keyof typeof cacheControl): ApiResponse {
  const isPacked = takesGzip(headers)
  const tag = `"${file.digest}${isPacked ? '-gzip' : ''}"`
  const common = {
    'Cache-Control': cacheControl[kept],
    ETag: tag,
    Vary: 'Accept-Encoding',
    'Content-Security-Policy': policy,
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Resource-Policy': 'same-origin',
  }
  if (hasAlready(headers, tag)) return { status: 304, headers: common }
  const bytes = isPacked ? file.gzip : file.plain
  return {
    status: 200,
    contentType: file.contentType,
    headers: {
      ...common,
      'Content-Length': String(bytes.length),
      ...(isPacked && { 'Content-Encoding': 'gzip' }),
    },
    stream: () => pieces(bytes),
  }
}

async function* pieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}

/** Whether a client accepts gzip: quality 0 refuses it [RFC 9110 12.5.3]. */
function takesGzip({ 'accept-encoding': accepted = '' }: IncomingHttpHeaders): boolean {
  return accepted.split(',').some((coding) => {
    const [name = '', quality = ''] = coding.toLowerCase().split(';')
    return (name.trim() === 'gzip' || name.trim() === '*') && !/^\s*q=0(\.0*)?\s*$/.test(quality)
  })
}

function hasAlready({ 'if-none-match': held = '' }: IncomingHttpHeaders, tag: string): boolean {
  return held.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === tag)
}

function reading(work: (request: ApiRequest) => Promise<ApiResponse>): Operation {
  return { use: 'read', prepare: (request) => ok(() => work(request)) }
}

/** A file that the browser loads. */
export interface PageFile {
  readonly contentType: string
  readonly plain: Uint8Array
  readonly gzip: Uint8Array
  /** Digest of the content, for `ETag`. */
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
 * The files that the build has put into the folder of the console. All are read at the first request and then found by name, so
 * nothing that a client sends becomes part of a path.
 */
export class PageFiles {
  readonly #folder: string
  #files: Promise<ReadonlyMap<string, PageFile>> | undefined

  constructor(folder: string) {
    this.#folder = folder
  }

  /** The file of a name; undefined for unknown names, and for all names if the console was not built. */
  async find(name: string): Promise<PageFile | undefined> {
    this.#files ??= read(this.#folder)
    const files = await this.#files
    // The console may be built while the broker runs.
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
