package stdio

import (
	"errors"
	"os"
)

// A Console is the terminal of this process. There is none on Windows.
type Console struct{ *os.File }

// OpenConsole reports that there is none.
func OpenConsole() (*Console, error) {
	return nil, errors.New("approve is not there on Windows: use a client that can ask (elicitation)")
}

// Forget does nothing.
func (*Console) Forget() error { return nil }
