package edit

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"mcphub/internal/lazyregexp"
)

// A SyntaxError is a place in a text that cannot be read.
type SyntaxError struct {
	Line, Col int // from 1
	Text      string
}

// Error returns the text behind its place.
func (e *SyntaxError) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Col, e.Text) }

// WithFile returns in which file something is wrong, and where in it: FILE:LINE:COLUMN: TEXT.
func WithFile(file string, err error) error {
	if errors.As(err, new(*SyntaxError)) {
		return fmt.Errorf("%s:%w", file, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// How the parsers of JSON and YAML report where something is.
var (
	jsonPlace = lazyregexp.New(`^hujson: line (\d+), column (\d+): `)
	yamlPlace = lazyregexp.New(`^\[(\d+):(\d+)\] `)
)

// dropPosition takes the place out of the text of an error.
func dropPosition(at *lazyregexp.Regexp, text string) error {
	found := at.FindStringSubmatch(text)
	if found == nil {
		return errors.New(text)
	}
	line, _ := strconv.Atoi(found[1]) // digits
	col, _ := strconv.Atoi(found[2])
	return &SyntaxError{line, col, text[len(found[0]):]}
}

func tomlError(err error) error {
	var e *toml.DecodeError
	if !errors.As(err, &e) {
		return err
	}
	line, col := e.Position()
	return &SyntaxError{line, col, strings.TrimPrefix(e.Error(), "toml: ")}
}
