import type { Configuration } from '../../shapes.js'
import { PageHead } from '../parts/page-head.js'
import { useResource } from '../session.js'
import { TraceControls } from './trace-controls.js'
import { linesPath, TraceLines } from './trace-lines.js'

/** The traced areas, the log level, and the lines as they come. */
export function TracePage() {
  const configuration = useResource<Configuration>('/admin/config', 60_000)
  return (
    <>
      <PageHead title="Trace" curl={['/log/trace', '/log/verbose', '/admin/log', linesPath]} />
      <TraceControls configuration={configuration} />
      <TraceLines areas={Object.keys(configuration.value?.traceAreas ?? {})} />
    </>
  )
}
