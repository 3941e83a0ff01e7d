import type { ApiResponse } from './api.js'

/** The reason phrases of errors, as NGSIv1 reports them [management 11.3]. */
export const reasonPhrases = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  411: 'Content Length Required',
  413: 'Request Entity Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const

/** The status of an error that all interfaces share. */
export type ErrorStatus = keyof typeof reasonPhrases

/** An error as the management interface and NGSIv2 report it: its reason phrase without spaces [management 1]. */
export function shortForm(status: ErrorStatus, description: string): ApiResponse {
  return { status, body: JSON.stringify({ error: reasonPhrases[status].replaceAll(' ', ''), description }) }
}

export function json(value: unknown): ApiResponse {
  return { status: 200, body: JSON.stringify(value) }
}
