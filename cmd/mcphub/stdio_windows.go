package main

import (
	"os"

	"golang.org/x/sys/windows"
)

func openStdio() (in, out *os.File, restore func()) { return os.Stdin, os.Stdout, func() {} }

func ignoreBrokenPipe(func(sig ...os.Signal)) {}

func isTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
