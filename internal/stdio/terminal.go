package stdio

import (
	"os"

	"golang.org/x/term"
)

// IsTerminal reports whether a file is a terminal, or a console of Windows.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }
