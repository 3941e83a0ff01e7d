import { otherOperations } from './dimensions.js'
import { testGrowth } from './growth.js'

testGrowth(otherOperations)
