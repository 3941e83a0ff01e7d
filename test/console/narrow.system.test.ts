import { test } from 'tap'
import { needsBrowser } from './browser.js'
import { checkAppearance } from './given-console.js'

test('every page on a phone is for everybody, in both themes', needsBrowser, (t) => checkAppearance(t, 390))
