import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { PointList } from '../../shapes.js'
import { setParameter } from '../address.js'
import { countText } from '../format.js'
import { useObservable } from '../observable.js'
import { useParameter } from '../parts/filter-fields.js'
import { Shown } from '../parts/states.js'
import type { Known } from '../session.js'
import { colours } from '../theme.js'
import { areaOf, boxOf, boxText, type MapArea, widened, world } from './map-area.js'
import { drawMap, type MapView, scaleOf, viewOf } from './map-drawing.js'

export interface PlacesShown {
  readonly known: Known<PointList>
}

/** A map of entities, which opens on them: dragging changes the area, which the address and the list beside the map share. */
export function EntityMap({ known }: PlacesShown) {
  const chosen = boxOf(useParameter('area'))
  return (
    <section class="map" aria-label="Map">
      <Shown known={known} what="The places">
        {({ points, beyond }) => (
          <>
            <Picture points={points} area={chosen ?? areaOf(points)} />
            <p class="quiet">
              {countText(points.length / 2)} places are shown
              {beyond > 0 && `, spread evenly over about ${countText(points.length / 2 + beyond)}`}. Drag on the map to
              select an area; the list then shows the entities in it.
            </p>
          </>
        )}
      </Shown>
    </section>
  )
}

interface Drag {
  readonly from: readonly [number, number]
  readonly to: readonly [number, number]
}

function Picture({ points, area }: { readonly points: readonly number[]; readonly area: MapArea }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(0)
  const [drag, setDrag] = useState<Drag>()
  const palette = useObservable(colours)
  const name = boxText(area)
  const view = useMemo(() => (width === 0 ? undefined : viewOf(area, width)), [name, width])
  useEffect(() => {
    const { current: element } = frame
    if (element === null) return
    const watch = new ResizeObserver(() => setWidth(element.clientWidth))
    watch.observe(element)
    return () => watch.disconnect()
  }, [])
  useEffect(() => {
    const { current: element } = canvas
    if (element !== null && view !== undefined) drawMap(element, view, points)
  }, [view, points, palette])
  const place = (event: PointerEvent): readonly [number, number] => {
    const { left, top } = canvas.current?.getBoundingClientRect() ?? { left: 0, top: 0 }
    return [event.clientX - left, event.clientY - top]
  }
  const drop = (event: PointerEvent) => {
    if (drag !== undefined && view !== undefined) searchArea(view, { from: drag.from, to: place(event) })
    setDrag(undefined)
  }
  return (
    <div class="map-frame" ref={frame}>
      <canvas
        ref={canvas}
        role="img"
        aria-label="Map of the entities. The list has them too; the field Area asks for a part of the world."
        onPointerDown={(event) => {
          canvas.current?.setPointerCapture(event.pointerId)
          setDrag({ from: place(event), to: place(event) })
        }}
        onPointerMove={(event) => drag && setDrag({ from: drag.from, to: place(event) })}
        onPointerUp={drop}
        onPointerCancel={() => setDrag(undefined)}
      />
      {drag && <span class="map-drag" style={rectangleOf(drag)} />}
      {view && <Scale view={view} />}
      <div class="actions map-actions">
        <button type="button" onClick={() => setParameter('area', boxText(widened(area, 1 / 2)))}>
          Zoom in
        </button>
        <button type="button" onClick={() => setParameter('area', boxText(widened(area, 2)))}>
          Zoom out
        </button>
        <button type="button" onClick={() => setParameter('area', boxText(world))}>
          World
        </button>
        <button type="button" onClick={() => setParameter('area', undefined)}>
          Data
        </button>
      </div>
    </div>
  )
}

/** A shorter drag is a click. */
const least_px = 6

function searchArea({ project }: MapView, { from, to }: Drag): void {
  if (Math.abs(from[0] - to[0]) < least_px || Math.abs(from[1] - to[1]) < least_px) return
  const [one, other] = [project.invert?.([from[0], from[1]]), project.invert?.([to[0], to[1]])]
  if (!one || !other) return
  const clamp = (value: number, most: number) => Math.min(most, Math.max(-most, value))
  setParameter(
    'area',
    boxText({
      west: clamp(Math.min(one[0], other[0]), 180),
      east: clamp(Math.max(one[0], other[0]), 180),
      south: clamp(Math.min(one[1], other[1]), 90),
      north: clamp(Math.max(one[1], other[1]), 90),
    }),
  )
}

function rectangleOf({ from, to }: Drag) {
  return {
    left: `${Math.min(from[0], to[0])}px`,
    top: `${Math.min(from[1], to[1])}px`,
    width: `${Math.abs(from[0] - to[0])}px`,
    height: `${Math.abs(from[1] - to[1])}px`,
  }
}

function Scale({ view }: { readonly view: MapView }) {
  const { px, text } = scaleOf(view)
  return (
    <span class="map-scale" style={{ width: `${px}px` }}>
      {text}
    </span>
  )
}
