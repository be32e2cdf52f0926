package stdio

import "os"

// Open returns standard input and output as they are.
func Open() (in, out *os.File, restore func()) { return os.Stdin, os.Stdout, func() {} }

// CatchBrokenPipe does nothing: there is no such signal.
func CatchBrokenPipe(func(sig ...os.Signal)) {}
