import { render } from 'preact'
import { followAddress } from './address.js'
import { ConsoleFrame } from './frame.js'
import { followLive } from './live-state.js'
import { openSession, signIn } from './session.js'
import { followTheme } from './theme.js'

followTheme()
followAddress()
const begin = signIn.observe(() => {
  if (signIn.value !== 'done') return
  begin()
  followLive()
})
void openSession()

const place = document.getElementById('console')
if (place !== null) render(<ConsoleFrame />, place)
