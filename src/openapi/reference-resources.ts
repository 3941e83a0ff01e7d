import type { ApiResponse, Resource } from '../api.js'
import { ok } from '../result.js'
import { flagsPage } from './flags-page.js'
import { openApiText } from './openapi-document.js'
import { referencePage } from './reference-page.js'

/** The description of the broker, for programs and for people; rendered once [management 1]. */
export function referenceResources(): readonly Resource[] {
  return [
    fixedResource('/openapi.json', { status: 200, body: openApiText() }),
    fixedResource('/docs', referencePage()),
    fixedResource('/docs/flags', flagsPage()),
  ]
}

/** A resource that is always the same. */
function fixedResource(pattern: string, response: ApiResponse): Resource {
  return { pattern, anyCase: false, operations: { GET: { use: 'read', prepare: () => ok(() => response) } } }
}
