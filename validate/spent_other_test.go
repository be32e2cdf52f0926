//go:build !linux

package validate

import "time"

var started = time.Now()

func spent() time.Duration { return time.Since(started) }
