import { render } from 'preact'
import { followAddress } from './address.js'
import { ConsoleFrame } from './frame/console-frame.js'
import { followLive } from './live/live-state.js'
import { followTheme } from './theme.js'

followTheme()
followAddress()
followLive()

const place = document.getElementById('console')
if (place !== null) render(<ConsoleFrame />, place)
