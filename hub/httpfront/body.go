package httpfront

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"

	"mcphub/hub/httpfront/headers"
	"mcphub/hub/httpfront/quota"
	"mcphub/internal/jsonrpc"
)

// This file reads the message of a POST.

// maxInitialize is the longest message, in bytes, of a client without a session.
const maxInitialize = 1 << 20

// readMessage reads the one message of a POST, bounded in size and time. session is nil if there is none yet.
// share is the share of whose request it is. A batch, if the session has those, comes as it is (isBatch). If there is none the
// request is answered. What is held is given back with releaseBytes, when the request is over.
func (f *Front) readMessage(w http.ResponseWriter, r *http.Request, session *FrontSession, share *quota.Share) (*jsonrpc.Message, *bodyReservation) {
	if kind := r.Header["Content-Type"]; len(kind) != 1 || !isJSON(kind[0]) {
		f.refuseRequest(w, r, http.StatusUnsupportedMediaType, ReasonType, nil, "send application/json, in UTF-8")
		return nil, nil
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		w.Header().Set("Accept-Encoding", "identity") // RFC 9110, 8.4
		f.refuseRequest(w, r, http.StatusUnsupportedMediaType, ReasonType, nil, "send the message as it is, without a Content-Encoding")
		return nil, nil
	}
	limit := int64(f.hub.Limits().Frame)
	if session == nil {
		limit = min(limit, maxInitialize)
	}
	if r.ContentLength > limit {
		f.refuseRequest(w, r, http.StatusRequestEntityTooLarge, ReasonSize, nil, fmt.Sprintf("the message has %d bytes, more than %d", r.ContentLength, limit))
		return nil, nil
	}
	incoming := &struct {
		m    jsonrpc.Message
		held bodyReservation
	}{held: bodyReservation{r: r.Body, session: session, share: share, front: f, frame: int64(f.hub.Limits().Frame)}}
	if r.ContentLength < 0 { // else net/http reads no more than it says
		incoming.held.r = http.MaxBytesReader(w, r.Body, limit)
	}
	body, err := readBody(&incoming.held, r.ContentLength)
	if err == nil {
		err = jsonrpc.Split(body, true, &incoming.m)
	}
	if err == nil {
		err = headers.CarryTrace(r.Header, &incoming.m)
	}
	if errors.Is(err, jsonrpc.ErrBatch) && session != nil && session.maySendBatches() {
		incoming.m, err = jsonrpc.Message{Frame: body}, nil
	}
	if text := incoming.m.LongID(f.hub.Limits().ID); err == nil && text != "" {
		incoming.held.releaseBytes()
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonBody, incoming.m.ID, text)
		return nil, nil
	}
	if err == nil {
		return &incoming.m, &incoming.held
	}
	incoming.held.releaseBytes()
	var long *http.MaxBytesError
	var syntax *jsonrpc.SyntaxError
	switch {
	case errors.As(err, &long):
		f.refuseRequest(w, r, http.StatusRequestEntityTooLarge, ReasonSize, nil, fmt.Sprintf("the message has more than %d bytes", limit))
	case errors.Is(err, errHeld):
		f.answerRefused(w, r, busyRefusal(ReasonMemory, err.Error()), nil)
	case errors.As(err, &syntax):
		f.answerRefused(w, r, &refusal{status: http.StatusBadRequest, reason: ReasonBody, text: err.Error(), code: syntax.Code}, nil)
	default:
		f.answerRefused(w, r, &refusal{status: http.StatusBadRequest, reason: ReasonBody, text: "the body could not be read", code: jsonrpc.CodeParse}, nil)
	}
	return nil, nil
}

// isJSON reports whether a Content-Type stands for JSON, in UTF-8: there is no
// other (RFC 8259, 8.1), and the one who stands before the hub may read it as it
// says.
func isJSON(kind string) bool {
	if kind == "application/json" {
		return true
	}
	kind, params, err := mime.ParseMediaType(kind)
	if err != nil || kind != "application/json" {
		return false
	}
	charset := strings.ToLower(params["charset"])
	return charset == "" || charset == "utf-8" || charset == "utf8" || charset == "us-ascii"
}

// readBody reads to the end. length is what the request says about itself, -1
// for nothing: memory is taken at once only for a short one, and for what has
// come of a long one, which is put together when it is whole. A buffer that
// grows would take three times as much.
func readBody(r io.Reader, length int64) ([]byte, error) {
	if length >= 0 && length <= smallBody {
		b := make([]byte, length)
		_, err := io.ReadFull(r, b)
		return b, err
	}
	var parts [][]byte
	for size := smallBody; ; size = min(2*size, 1<<20) {
		part := make([]byte, 0, size)
		for len(part) < size {
			n, err := r.Read(part[len(part):size])
			part = part[:len(part)+n]
			if err == io.EOF {
				return bytes.Join(append(parts, part), nil), nil
			}
			if err != nil {
				return nil, err
			}
		}
		parts = append(parts, part)
	}
}
