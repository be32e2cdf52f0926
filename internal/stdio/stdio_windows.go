package stdio

import (
	"os"

	"golang.org/x/sys/windows"
)

// Open returns standard input and output as they are.
func Open() (in, out *os.File, restore func()) { return os.Stdin, os.Stdout, func() {} }

// CatchBrokenPipe does nothing: there is no such signal.
func CatchBrokenPipe(func(sig ...os.Signal)) {}

// IsTerminal reports whether a file is a console.
func IsTerminal(f *os.File) bool {
	var mode uint32
	return windows.GetConsoleMode(windows.Handle(f.Fd()), &mode) == nil
}
