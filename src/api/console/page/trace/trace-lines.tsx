import { useEffect, useRef, useState } from 'preact/hooks'
import type { SkippedLines } from '../../shapes.js'
import { useTenant } from '../address.js'
import { countText } from '../format.js'
import { useObservable } from '../observable.js'
import { type Column, DataTable } from '../parts/data-table.js'
import { ChoiceField, pathWith, SearchField, useParameter } from '../parts/filter-fields.js'
import { CopyButton } from '../parts/json.js'
import { fromJson, paused, sentenceOf } from '../session.js'
import { readStream } from '../stream-reader.js'
import { type LogLine, readLine, WhatChip } from './log-line.js'
import { RequestLines } from './request-lines.js'

/** The number of lines that are kept; older ones are dropped. */
const mostLines = 5000

export const linesPath = '/admin/log/tail'

/** The default tenant, as lines of the log have it. */
const noTenant = '<none>'

const levels = ['ERROR', 'WARN', 'INFO', 'DEBUG', 'SUMMARY']

/** The lines of the log as they come, the latest first. The filter is part of the address. */
export function TraceLines({ areas }: { readonly areas: readonly string[] }) {
  const tenant = useTenant()
  const path = pathWith(linesPath, {
    text: useParameter('text'),
    correlator: useParameter('correlator'),
    tenant: tenant === '' ? noTenant : tenant,
    areas: useParameter('areas'),
    levels: useParameter('levels'),
  })
  const isPaused = useObservable(paused)
  const { lines, skipped, fault, clear } = useLines(path, isPaused)
  const [request, setRequest] = useState<string>()
  const text = () => lines.map((line) => `${line.text}\n`).join('')
  return (
    <section aria-labelledby="lines">
      <h2 id="lines">Lines</h2>
      <search class="finder">
        <SearchField name="text" label="Text" />
        <ChoiceField name="areas" label="Area" all="all" choices={areas} />
        <ChoiceField name="levels" label="Level" all="all" choices={levels} />
        <SearchField name="correlator" label="Correlator" />
        <span class="actions">
          <button type="button" aria-pressed={isPaused} title="Pause (p)" onClick={() => paused.set(!isPaused)}>
            Pause
          </button>
          <button type="button" onClick={clear}>
            Clear
          </button>
          <CopyButton text={text}>Copy</CopyButton>
          <button type="button" disabled={lines.length === 0} onClick={() => save(text())}>
            Save
          </button>
        </span>
      </search>
      {fault && <p class="failed">The broker sends no lines: {fault}.</p>}
      <p class="quiet">
        This table keeps the last {countText(mostLines)} lines, at most 200 of each second
        {skipped > 0 && `; ${countText(skipped)} lines were left out`}. Click a correlator, or press Enter, to see all
        lines of its request.
      </p>
      <DataTable
        caption="Lines of the log, the latest first; Enter shows all lines of the request"
        columns={columns}
        rows={lines}
        keyOf={({ number }) => String(number)}
        open={({ correlator }) => correlator !== noCorrelator && setRequest(correlator)}
        empty="No line has come yet. Trace an area above, or raise the log level."
      />
      {request !== undefined && (
        <RequestLines
          correlator={request}
          lines={lines.filter(({ correlator }) => correlator === request).toReversed()}
          isFiltered={path !== linesPath}
          close={() => setRequest(undefined)}
        />
      )}
    </section>
  )
}

/** The correlator of lines outside of requests. */
const noCorrelator = 'N/A'

const columns: readonly Column<LogLine>[] = [
  {
    name: 'time',
    cell: ({ time }) => (
      <time dateTime={time} title={time}>
        {time.slice(11, 23)}
      </time>
    ),
  },
  { name: 'what', cell: (line) => <WhatChip line={line} /> },
  {
    name: 'message',
    cell: ({ message }) => (
      <span class="stored" title={message}>
        {message.slice(0, longestShown)}
      </span>
    ),
  },
  {
    name: 'tenant',
    cell: ({ tenant }) => <span class="stored">{tenant === '<none>' ? '' : tenant}</span>,
    isMinor: true,
  },
  {
    name: 'correlator',
    cell: ({ correlator }) =>
      correlator !== noCorrelator && (
        <span class="stored link" title={correlator}>
          {correlator.slice(0, 8)}
        </span>
      ),
  },
]

/** In characters; the title has the whole text. */
const longestShown = 300

/** Reads the lines of a path; another path starts anew. */
function useLines(path: string, isPaused: boolean) {
  const [shown, setShown] = useState<{ readonly lines: readonly LogLine[]; readonly skipped: number }>(none)
  const [fault, setFault] = useState<string>()
  const numbers = useRef(0)
  useEffect(() => setShown(none), [path])
  useEffect(() => {
    if (isPaused) return
    let gathered: LogLine[] = []
    let skipped = 0
    // Lines that arrive together are rendered together.
    const timer = setInterval(() => {
      if (gathered.length === 0 && skipped === 0) return
      const [fresh, left] = [gathered.toReversed(), skipped]
      gathered = []
      skipped = 0
      setShown((before) => ({ lines: [...fresh, ...before.lines].slice(0, mostLines), skipped: before.skipped + left }))
    }, 250)
    const stop = readStream(path, {
      endsForbidden: true,
      opened: () => setFault(undefined),
      lost: (thrown) => setFault(thrown === undefined ? 'the broker has ended the connection' : sentenceOf(thrown)),
      event: (name, data) => {
        if (name === 'skipped') skipped += fromJson<SkippedLines>(data).lines
        if (name !== 'line') return
        numbers.current += 1
        gathered.push(readLine(data, numbers.current))
      },
    })
    return () => {
      clearInterval(timer)
      stop()
    }
  }, [path, isPaused])
  return { ...shown, fault, clear: () => setShown(none) }
}

const none = { lines: [], skipped: 0 }

function save(text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'application/x-ndjson' }))
  link.download = `rigel-log-${new Date().toISOString().slice(0, 19).replaceAll(':', '')}.ndjson`
  link.click()
  URL.revokeObjectURL(link.href)
}
