package remote

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"mcphub/children/link"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file reports whether a server has lost the session of a request. 404, and 400 in such words, say so. Other
// servers answer with another status, or with an error in an answer that is a success. The same could be about the
// request, so they are asked again, by a ping in that session.

// pingTime bounds how long that ping may take.
const pingTime = 10 * time.Second

// A sign is how an answer may report that the session is lost. The zero value says nothing about it.
type sign struct {
	certain bool // it says so
	words   bool // in words; a ping has to be refused in such words too
	code    int  // by this status; a ping has to be refused by it too
	served  bool // the request may have been executed: it is not sent again
}

// signOf reads the answer to a request.
func signOf(res *jsonrpc.Response, err error) sign {
	var bad *link.StatusError
	switch {
	case err == nil:
		return sign{words: res != nil && res.Error != nil && ofSession(jsonrpc.ParseError(res.Error).Message)}
	case !errors.As(err, &bad):
		return sign{}
	case bad.SessionForgotten():
		return sign{certain: true}
	case bad.Code == http.StatusUnauthorized, bad.Code == http.StatusForbidden:
		if bad.Advice != "" || bad.Challenge { // it asks for a login or for another token
			return sign{}
		}
		return sign{code: bad.Code}
	case bad.Code == http.StatusInternalServerError:
		return sign{code: bad.Code, served: !ofSession(bad.Text)}
	}
	return sign{}
}

// ofSession reports whether a text says about a session that there is none.
func ofSession(text string) bool {
	text = strings.ToLower(text)
	if strings.Contains(text, "not initialized") {
		return true
	}
	if !strings.Contains(text, "session") {
		return false
	}
	for _, word := range []string{
		"not found", "no valid", "invalid", "expired", "unknown", "unrecognized", "missing", "required", "no such", "not exist", "no longer",
		"terminated", "closed", "lost", "gone",
	} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// renewSession starts another session instead of used, if that is lost by what the answer to a request says. again: the request was
// not executed, and is to be sent again.
func (streamable *httpConnection) renewSession(ctx context.Context, used string, s sign) (again bool, err error) {
	switch {
	case used == "" || s == sign{} || ctx.Err() != nil:
		return false, nil
	case s.certain:
		err := streamable.restartSession(ctx, used, s)
		return err == nil, err
	}
	// What was doubtful is not worth an error of its own: the answer is passed on.
	return streamable.restartSession(ctx, used, s) == nil && !s.served, nil
}

var errNotLost = errors.New("the session is not lost")

// confirmLost returns nil if the session is lost of which a doubtful answer was a sign. The caller has the turn to renew it.
func (streamable *httpConnection) confirmLost(ctx context.Context, s sign) error {
	if time.Now().Before(streamable.doubts.until) {
		return errNotLost
	}
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	res, err := streamable.exchangeRequest(ctx, methods.Ping, nil)
	said := signOf(res, err)
	if ctx.Err() != nil || !said.certain && (said.code != s.code || said.words != s.words) {
		streamable.doubts.until = time.Now().Add(firstRetry)
		return errNotLost
	}
	streamable.doubts.pause = nextPause(streamable.doubts.pause, time.Since(streamable.doubts.renewed), false)
	streamable.doubts.renewed = time.Now()
	streamable.doubts.until = streamable.doubts.renewed.Add(streamable.doubts.pause)
	return nil
}

// doubts are how often a session was renewed on a doubtful sign. A server may begin a session for each client, and refuse all that is
// asked in it. They belong to the caller that has the turn to renew the session.
type doubts struct {
	renewed, until time.Time
	pause          time.Duration
}
