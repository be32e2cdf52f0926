package httpfront

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// This file writes answers that are no stream.

const (
	// discardTime is how long a body that nothing reads is thrown away, so that the answer
	// reaches the one who reads it.
	discardTime = time.Second
)

// A refusal is why nothing is done for a request.
type refusal struct {
	status int
	reason string // one of the Reason constants
	text   string
	code   int64         // of JSON-RPC; 0: the code of an invalid request
	again  time.Duration // after which it is worth trying again; 0: that is not said
}

func (r *refusal) Error() string { return r.text }

// refusedUnknown is for a session that does not exist, or is another user's.
var refusedUnknown = &refusal{status: http.StatusNotFound, reason: ReasonSession, text: "there is no such session: send initialize again"}

// refusedElsewhere is for a session of another hub, which has not got the request.
var refusedElsewhere = &refusal{status: http.StatusNotFound, reason: ReasonSession, text: "another hub keeps this session, and the request was not sent to it: nothing has run; send initialize again"}

// busyRefusal asks a client to come again.
func busyRefusal(reason, text string) *refusal {
	return &refusal{http.StatusTooManyRequests, reason, text, jsonrpc.CodeInternal, time.Second}
}

// tooManyRefusal returns the refusal of a principal that is at a bound: it names the bound, and after how long another try may succeed.
func tooManyRefusal(reason string, again time.Duration, text string, args ...any) *refusal {
	return &refusal{status: http.StatusTooManyRequests, reason: reason, text: fmt.Sprintf(text, args...), again: again}
}

// refusalOf makes a refusal of an error of package quota.
func refusalOf(err error) *refusal {
	if e, ok := errors.AsType[*quota.ExceededError](err); ok {
		reason := ReasonCalls
		if e.Rate {
			reason = ReasonRate
		}
		return &refusal{status: http.StatusTooManyRequests, reason: reason, text: e.Text, again: e.Again}
	}
	return &refusal{status: http.StatusServiceUnavailable, reason: ReasonCalls, text: err.Error(), code: jsonrpc.CodeInternal}
}

// answerRefused refuses a request. id is raw; nil: it is not known.
func (f *Front) answerRefused(w http.ResponseWriter, from *http.Request, r *refusal, id []byte) {
	f.reportRejection(from, r.status, r.reason, r.text)
	h := w.Header()
	if r.again > 0 {
		h.Set("Retry-After", strconv.Itoa(int(math.Ceil(r.again.Seconds()))))
	}
	if r.status == http.StatusUnauthorized && h.Get("WWW-Authenticate") == "" {
		h.Set("WWW-Authenticate", `Bearer realm="mcphub"`)
	}
	answerWithStatus(w, r.status, id, jsonrpc.ErrorAnswer(cmp.Or(r.code, jsonrpc.CodeInvalidRequest), r.text))
}

// refuseRequest is for a request that is wrong. id is raw; nil: it is not known.
func (f *Front) refuseRequest(w http.ResponseWriter, r *http.Request, status int, reason string, id []byte, text string) {
	f.answerRefused(w, r, &refusal{status: status, reason: reason, text: text}, id)
}

// refuseWithAnswer is for a request that is wrong in a way for which the protocol has an error.
func (f *Front) refuseWithAnswer(w http.ResponseWriter, r *http.Request, status int, reason string, id []byte, answer jsonrpc.Answer) {
	f.reportRejection(r, status, reason, "")
	answerWithStatus(w, status, id, answer)
}

// refuseAsText is for a request that is none of the protocol.
func (f *Front) refuseAsText(w http.ResponseWriter, r *http.Request, status int, reason, text string) {
	f.reportRejection(r, status, reason, text)
	http.Error(w, text, status)
}

// answerPlain writes the answer to a request of a client with a handshake, if nothing was streamed before it.
func answerPlain(w http.ResponseWriter, exchange *PostExchange, answer jsonrpc.Answer, cancelled bool) {
	exchange.extendWrite(w)
	defer answer.Free()
	switch {
	case !cancelled:
		writeJSON(w, exchange.id, answer)
	case exchange.takesEvents:
		events.WriteHeader(w) // a stream without an answer
	default:
		answerWithStatus(w, http.StatusOK, exchange.id, jsonrpc.AnswerFailure("the request was cancelled"))
	}
}

// answerPlainModern writes the answer to a request of 2026-07-28, if nothing was streamed before it.
func answerPlainModern(w http.ResponseWriter, exchange *PostExchange, answer jsonrpc.Answer, status int, callEnded bool) {
	exchange.extendWrite(w)
	defer answer.Free()
	switch {
	case callEnded && answer.Result == nil:
		answerWithStatus(w, http.StatusServiceUnavailable, exchange.id, answer)
	case status != http.StatusOK:
		answerWithStatus(w, status, exchange.id, answer)
	default:
		writeJSON(w, exchange.id, answer)
	}
}

// statusOf returns the status of an answer that is no stream: the status of the
// errors which the specification gives one.
func statusOf(request ModernRequest, answer jsonrpc.Answer) int {
	if answer.Error == nil {
		return http.StatusOK
	}
	switch jsonrpc.ParseError(answer.Error).Code {
	case mcp.HEADER_MISMATCH, mcp.MISSING_REQUIRED_CLIENT_CAPABILITY, mcp.UNSUPPORTED_PROTOCOL_VERSION:
		return http.StatusBadRequest
	case jsonrpc.CodeMethodNotFound:
		if !request.HasMethod() {
			return http.StatusNotFound
		}
	}
	return http.StatusOK
}

// answerWithStatus answers with a status of its own. id is raw; nil: it is not known.
func answerWithStatus(w http.ResponseWriter, status int, id []byte, answer jsonrpc.Answer) {
	if id == nil {
		id = []byte("null")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	for _, p := range jsonrpc.AnswerParts(id, answer) {
		_, _ = w.Write(p)
	}
}

// jsonType is shared by all answers, and never changed.
var jsonType = []string{"application/json"}

// writeJSON answers with a frame that is no stream.
func writeJSON(w http.ResponseWriter, id []byte, answer jsonrpc.Answer) {
	parts := jsonrpc.AnswerParts(id, answer)
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	h := w.Header()
	h["Content-Type"] = jsonType
	if size > 1<<10 { // else net/http tells the length by itself
		h["Content-Length"] = []string{strconv.Itoa(size)}
	}
	if size <= 4<<10 {
		whole := make([]byte, 0, size)
		for _, p := range parts {
			whole = append(whole, p...)
		}
		_, _ = w.Write(whole) // into the buffer of the connection
		return
	}
	c := http.NewResponseController(w)
	for _, p := range parts {
		if !events.Write(w, c, p) {
			return
		}
	}
}

// refuseAndClose refuses a request whose sender may not call, and ends the connection.
func (f *Front) refuseAndClose(w http.ResponseWriter, r *http.Request, why *refusal) {
	closeAfterAnswer(w)
	f.answerRefused(w, r, why, nil)
}

// closeAfterAnswer ends the connection after the answer. The deadline is the connection's own, so
// that it holds however much else there is to run.
func closeAfterAnswer(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(discardTime))
	w.Header().Set("Connection", "close")
}
