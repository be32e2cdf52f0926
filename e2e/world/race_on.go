//go:build race

package world

// RaceDetector says whether these tests run with the race detector: then the hub does too.
const RaceDetector = true
