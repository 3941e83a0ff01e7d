import { helpWith } from './helper.js'
import { type LoadResult, type LoadTask, load } from './load.js'

helpWith<LoadTask, LoadResult>(load)
