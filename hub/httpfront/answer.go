package httpfront

import (
	"net/http"
	"strconv"
	"time"

	"mcphub/hub/httpfront/admission"
	"mcphub/internal/jsonrpc"
)

// This file writes answers that are no stream.

const (
	// parting is how long a body that nothing reads is thrown away, so that the answer
	// reaches whoever reads it.
	parting      = time.Second
	writeTimeout = 30 * time.Second // without the client taking anything
	writeChunk   = 256 << 10        // written under one writeTimeout
)

// The fixed parts of a frame that answers a request.
var (
	partID     = []byte(`{"jsonrpc":"2.0","id":`)
	partResult = []byte(`,"result":`)
	partError  = []byte(`,"error":`)
	partEnd    = []byte("}")
)

// answerParts are the parts of the frame that answers a request.
func answerParts(id []byte, a jsonrpc.Answer) [5][]byte {
	switch {
	case a.Result != nil:
		return [...][]byte{partID, id, partResult, a.Result, partEnd}
	case a.Error != nil:
		return [...][]byte{partID, id, partError, a.Error, partEnd}
	}
	return answerParts(id, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, "the request was not answered"))
}

// refuse answers with a status and a JSON-RPC error without an id.
func refuse(w http.ResponseWriter, status int, code int64, text string) {
	refuseRequest(w, status, []byte("null"), jsonrpc.ErrorAnswer(code, text))
}

func refuseRequest(w http.ResponseWriter, status int, id []byte, a jsonrpc.Answer) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	for _, p := range answerParts(id, a) {
		_, _ = w.Write(p)
	}
}

// refuseBusy asks a client to come again.
func refuseBusy(w http.ResponseWriter, text string) {
	w.Header().Set("Retry-After", "1")
	refuse(w, http.StatusTooManyRequests, jsonrpc.CodeInternal, text)
}

// refuseStopping says that this hub takes nothing new. Whoever comes again may find another one.
func refuseStopping(w http.ResponseWriter, id []byte) {
	if id == nil {
		id = []byte("null")
	}
	w.Header().Set("Retry-After", "2")
	refuseRequest(w, http.StatusServiceUnavailable, id, jsonrpc.ErrorAnswer(jsonrpc.CodeInternal, errStopping.Reason.Error()+": nothing was done for this request; try again, another hub may serve it"))
}

// refuseRevoked answers a request whose token was taken out while it came.
func refuseRevoked(w http.ResponseWriter, id []byte) {
	w.Header().Set("WWW-Authenticate", `Bearer realm="mcphub"`)
	refuseRequest(w, http.StatusUnauthorized, id, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, errRevoked.Reason.Error()))
}

// refuseEntry answers a client whose session takes no connection more.
func refuseEntry(w http.ResponseWriter, refusal *admission.Refusal) {
	if refusal.Status == http.StatusTooManyRequests {
		refuseBusy(w, refusal.Text)
		return
	}
	refuse(w, refusal.Status, jsonrpc.CodeInvalidRequest, refusal.Text)
}

func writeEvents(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
}

// jsonType is shared by all answers, and never changed.
var jsonType = []string{"application/json"}

// writePlain answers with a frame that is no stream.
func writePlain(w http.ResponseWriter, id []byte, a jsonrpc.Answer) {
	parts := answerParts(id, a)
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
		if !writeChunks(w, c, p) {
			return
		}
	}
}

// writeChunks writes to a client that may be slow but must go on taking.
func writeChunks(w http.ResponseWriter, c *http.ResponseController, b []byte) bool {
	for len(b) > 0 {
		n := min(len(b), writeChunk)
		_ = c.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(b[:n]); err != nil {
			return false
		}
		b = b[n:]
	}
	return true
}

// turnAway refuses a request whose sender may not call, and ends the connection.
func turnAway(w http.ResponseWriter, status int, text string) {
	part(w)
	refuse(w, status, jsonrpc.CodeInvalidRequest, text)
}

// part ends the connection after the answer. The deadline is the connection's own, so
// that it holds however much else there is to run.
func part(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(parting))
	w.Header().Set("Connection", "close")
}
