package exit

import (
	"errors"
	"fmt"
)

// The exit statuses, as docs/commands.md documents them.
const (
	OK        = 0
	Failure   = 1
	Usage     = 2
	Config    = 3
	NotFound  = 5
	ToolError = 6
	Timeout   = 8
	NoHub     = 9
	Differs   = 10
	Interrupt = 130
)

// An Error carries the exit status of a command that failed. An empty Err
// means that everything has been said.
type Error struct {
	Code int
	Err  error
}

func (e *Error) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Errorf is fmt.Errorf with an exit status.
func Errorf(code int, format string, args ...any) error {
	return &Error{code, fmt.Errorf(format, args...)}
}

// UsageErrorf returns an error of a wrong command line.
func UsageErrorf(format string, args ...any) error { return Errorf(Usage, format, args...) }

// ConfigErrorf returns an error of hub.json, or of what it names.
func ConfigErrorf(format string, args ...any) error { return Errorf(Config, format, args...) }

// NotFoundErrorf returns an error of a name that nothing has.
func NotFoundErrorf(format string, args ...any) error { return Errorf(NotFound, format, args...) }

// Failed gives an error without an exit status the status of a failure.
func Failed(err error) error {
	var e *Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &Error{Failure, err}
}

// Status returns the exit status that an error carries. One without is wrong
// usage: that is what the command line itself refuses.
func Status(err error) int {
	var e *Error
	switch {
	case err == nil:
		return OK
	case errors.As(err, &e):
		return e.Code
	}
	return Usage
}
