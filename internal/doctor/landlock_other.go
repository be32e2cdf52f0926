//go:build !linux

package doctor

func landlock() int { return 0 }
