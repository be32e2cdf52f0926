package main

import (
	"errors"
	"os"
)

// terminal is none there is on Windows.
type terminal struct{ *os.File }

func openTerminal() (*terminal, error) {
	return nil, errors.New("approve is not there on Windows: use a client that can ask (elicitation)")
}

func (*terminal) forget() error { return nil }
