package link

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"mcphub/internal/jsonrpc"
)

// A LostError is a connection to a server that broke, or could not be made.
type LostError struct {
	Host string
	Err  error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the connection to %s broke: %s", e.Host, BareURL(e.Err))
}

// Unwrap returns what happened.
func (e *LostError) Unwrap() error { return e.Err }

// BareURL leaves out the address that net/http puts before an error: it may
// hold what no one else should see.
func BareURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

// A StatusError is an HTTP status that is no success, with the beginning of
// what the server said.
type StatusError struct {
	Code   int
	Text   string
	Advice string // what a person can do if the server asks for a login; ""
	LogIn  bool   // the Advice is to log in
	Unsent bool   // the request was not sent, because there is no token that it could carry, and the server has answered nothing

	Challenge bool // the server named a way to authenticate (WWW-Authenticate)
}

// SessionForgotten reports whether the server states that it does not know the session
// of a request, which it has not served then. That is 404 (2025-11-25, Session
// Management) or 410; many servers that look the session up themselves, as the examples
// of the TypeScript SDK do, say 400 and that the session is what is wrong.
func (e *StatusError) SessionForgotten() bool {
	if e.Code == http.StatusBadRequest {
		text := strings.ToLower(e.Text)
		return strings.Contains(text, "session") || strings.Contains(text, "not initialized")
	}
	return e.Code == http.StatusNotFound || e.Code == http.StatusGone
}

func (e *StatusError) Error() string {
	if e.Unsent {
		return "was sent no request: " + e.Advice
	}
	text := fmt.Sprintf("answered with HTTP status %d (%s)", e.Code, http.StatusText(e.Code))
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		if e.Advice != "" {
			return text + "; " + e.Advice
		}
		text += "; check \"headers\" of this server in hub.json"
	}
	if e.Text != "" {
		text += ": " + e.Text
	}
	return text
}

// AsksForLogin reports whether a call failed, or a child did not start, because its
// server asks for a login that a person has to make.
func AsksForLogin(err error) bool {
	var refused *StatusError
	return errors.As(err, &refused) && refused.LogIn
}

// Closed makes what went wrong with the pipe itself an end of the connection.
func Closed(ctx context.Context, err error) error {
	var broken *jsonrpc.BrokenError
	if err == nil || errors.Is(err, jsonrpc.ErrClosed) || errors.As(err, &broken) || ctx.Err() != nil {
		return err
	}
	return &jsonrpc.ClosedError{Reason: err}
}
