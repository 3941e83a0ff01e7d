import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { ApiResponse, Resource } from '../../broker/operations/api.js'
import { ok } from '../../result.js'
import { builtFile } from '../../version.js'

/** The description of the broker, for programs and for people, as the build has written it; read once [management 1]. */
export function referenceResources(): readonly Resource[] {
  return [
    fixedResource('/openapi.json', { status: 200, body: built('openapi.json') }),
    fixedResource('/docs', page(built('docs.html'))),
    fixedResource('/docs/flags', page(built('flags.html'))),
  ]
}

/** Throws when the program was not built. */
function built(name: string): string {
  return readFileSync(builtFile(name), 'utf8')
}

/** A resource that is always the same. */
function fixedResource(pattern: string, response: ApiResponse): Resource {
  return { pattern, anyCase: false, operations: { GET: { use: 'read', prepare: () => ok(() => response) } } }
}

/** A page whose policy allows its own style and nothing more, so that nothing which may ever get into a text is carried out. */
function page(body: string): ApiResponse {
  const [, style = ''] = body.split(/<\/?style>/)
  const hash = createHash('sha256').update(style).digest('base64')
  return {
    status: 200,
    body,
    contentType: 'text/html; charset=utf-8',
    headers: {
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  }
}
