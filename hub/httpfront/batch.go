package httpfront

import (
	"bytes"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/hub/httpfront/events"
	"mcphub/hub/httpfront/headers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
)

// This file serves several messages that come in one POST, which 2025-03-26 has
// (basic, Batching): each as if it had come by itself, side by side. What is to be
// said before an answer goes on the session's own stream.

// isBatch reports whether m is what readMessage makes of a batch.
func isBatch(m *jsonrpc.Message) bool {
	return bytes.HasPrefix(bytes.TrimLeft(m.Frame, " \t\r\n"), []byte("["))
}

// answerBatch answers with an array, without a certain order.
func (f *Front) answerBatch(w http.ResponseWriter, r *http.Request, session *FrontSession, m *jsonrpc.Message, plain bool) {
	if !plain {
		f.refuseRequest(w, r, http.StatusNotAcceptable, ReasonAccept, nil, "accept application/json: a batch is answered with it")
		return
	}
	messages, err := jsonrpc.Messages(m.Frame)
	if err != nil {
		f.refuseRequest(w, r, http.StatusBadRequest, ReasonBody, nil, err.Error())
		return
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	b := &batchAnswers{}
	b.room.Store(int64(f.hub.Limits().Frame))
	var serving sync.WaitGroup
	for _, raw := range messages {
		message := &jsonrpc.Message{}
		err := jsonrpc.Split(raw, true, message)
		if err == nil {
			err = headers.CarryTrace(r.Header, message)
		}
		switch {
		case err != nil:
			b.refuseNext(nil, err.Error())
		case message.LongID(f.hub.Limits().ID) != "":
			b.refuseNext(message.ID, message.LongID(f.hub.Limits().ID))
		case f.hub.IsModern(message):
			b.refuseNext(message.ID, "a batch is of 2025-03-26, and this message of another version")
		case message.IsRequest() && message.Method == methods.Initialize: // its answer decides whether there may be batches
			b.refuseNext(message.ID, message.Method+" must not be part of a batch")
		case message.IsRequest():
			answer := b.nextAnswer(message.ID)
			serving.Go(func() { f.serveMessage(answer, r, session, message, false, &bodyReservation{}) })
		default:
			if refused := f.takeMessage(w, r, session, message); refused != nil {
				b.refuseNext(message.ID, refused.text)
			}
		}
	}
	serving.Wait()
	b.writeBatch(w)
}

// batchAnswers are the answers to one batch: together no longer than one message.
type batchAnswers struct {
	room atomic.Int64
	all  []*batchAnswer
}

// nextAnswer returns the place of one more answer.
func (b *batchAnswers) nextAnswer(id []byte) *batchAnswer {
	answer := &batchAnswer{answers: b, id: id, head: http.Header{}}
	b.all = append(b.all, answer)
	return answer
}

func (b *batchAnswers) refuseNext(id []byte, text string) {
	if id == nil {
		id = []byte("null")
	}
	writeJSON(b.nextAnswer(id), id, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidRequest, text))
}

// writeBatch answers the POST: 202 if nothing in it wanted an answer.
func (b *batchAnswers) writeBatch(w http.ResponseWriter) {
	if len(b.all) == 0 {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header()["Content-Type"] = jsonType
	to := http.NewResponseController(w)
	between := []byte("[")
	for _, answer := range b.all {
		_ = to.SetWriteDeadline(time.Now().Add(events.WriteTimeout))
		if _, err := w.Write(between); err != nil || !events.Write(w, to, answer.bodyText()) {
			return
		}
		between = []byte(",")
	}
	_, _ = w.Write([]byte("]"))
}

// A batchAnswer takes what would be the body of the answer to a request of its own.
type batchAnswer struct {
	answers *batchAnswers
	id      []byte
	head    http.Header
	body    []byte
	full    bool
}

// Header is not sent: the batch has its own.
func (a *batchAnswer) Header() http.Header { return a.head }

// WriteHeader does nothing: what is wrong with one message says its body.
func (a *batchAnswer) WriteHeader(int) {}

// SetReadDeadline and SetWriteDeadline do nothing: the connection is the batch's.
func (a *batchAnswer) SetReadDeadline(time.Time) error  { return nil }
func (a *batchAnswer) SetWriteDeadline(time.Time) error { return nil }

func (a *batchAnswer) Write(p []byte) (int, error) {
	if a.full = a.full || a.answers.room.Add(-int64(len(p))) < 0; a.full {
		a.answers.room.Add(int64(len(a.body)))
		a.body = nil
		return 0, errBatchFull
	}
	a.body = append(a.body, p...)
	return len(p), nil
}

var errBatchFull = errors.New("the answers of this batch are longer than a message may be: send the request by itself")

func (a *batchAnswer) bodyText() []byte {
	if a.full || a.body == nil {
		parts := jsonrpc.AnswerParts(a.id, jsonrpc.AnswerFailure(errBatchFull.Error()))
		return bytes.Join(parts[:], nil)
	}
	return a.body
}
