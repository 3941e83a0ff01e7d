import { createHash } from 'node:crypto'
import type { ApiResponse } from '../api.js'
import { referenceStyle } from './reference-style.js'

/**
 * A page of the reference from its markup: no script, and nothing from elsewhere. Its policy allows its own style and nothing
 * more, so that nothing which may ever get into a text is carried out.
 */
export function referenceResponse(title: string, body: string): ApiResponse {
  const hash = createHash('sha256').update(referenceStyle).digest('base64')
  return {
    status: 200,
    body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Rigel: ${title}</title><style>${referenceStyle}</style></head>
<body>
${body}
</body></html>
`,
    contentType: 'text/html; charset=utf-8',
    headers: {
      'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
      'X-Content-Type-Options': 'nosniff',
      'Referrer-Policy': 'no-referrer',
    },
  }
}
