package jsonrpc

import (
	"bytes"

	"mcphub/internal/jsonrpc/lines"
)

// A Response is what a peer answered to a Call: exactly one of Result and
// Error is set, raw.
type Response struct {
	Result []byte
	Error  []byte

	buf   *lines.Buffer
	batch *lines.Batch // of the read loop that it is on
	lent  bool         // it is in the memory of that read loop
}

// Answer passes r on as it is, but for an error that is no error object: SDKs end the connection at one, and with it what all
// other servers have under way. If r was given to a ResponseHandler, the Answer must go to a
// Responder before OnResponse returns.
func (r *Response) Answer() Answer {
	answer := Answer{Result: r.Result, Error: r.Error, batch: r.batch, lent: r.lent}
	if r.Error != nil {
		answer.Error = errorObject(r.Error)
	}
	if r.buf != nil {
		answer.Release = r.Release
	}
	return answer
}

// Err returns the error object of r, nil for a result.
func (r *Response) Err() *Error {
	if r.Error == nil {
		return nil
	}
	return ParseError(r.Error)
}

// Release gives the memory of a large response back for reuse. Nothing may
// touch Result or Error afterwards. Calling it is optional.
func (r *Response) Release() {
	if r.buf != nil {
		r.buf.Release()
		r.buf = nil
	}
	r.Result, r.Error = nil, nil
}

// An Answer is what a Handler returns to a request: exactly one of Result and
// Error, raw. The zero Answer is sent as an internal error. Release, where
// set, is called once the answer has been written or dropped; never when it
// had to be given up half written, for then it stays in use.
type Answer struct {
	Result  []byte
	Error   []byte
	Release func()

	batch *lines.Batch // of the read loop that answers
	lent  bool         // Result and Error are in the memory of that read loop
}

// Detach copies what is in the memory of a read loop, so that answer stays valid after the
// loop goes on, and on another goroutine.
func (answer *Answer) Detach() {
	answer.batch = nil
	if answer.lent {
		answer.Result, answer.Error, answer.lent = bytes.Clone(answer.Result), bytes.Clone(answer.Error), false
	}
}

// ResultAnswer answers with a raw JSON value.
func ResultAnswer(raw []byte) Answer { return Answer{Result: raw} }

// WithEdits returns the answer with parts of its result, or of its error, replaced. The
// memory of the original is released.
func (answer Answer) WithEdits(edits ...Edit) Answer {
	if len(edits) == 0 {
		return answer
	}
	var edited Answer
	if answer.Result != nil {
		edited.Result = Join(Splice(answer.Result, edits...))
	} else {
		edited.Error = Join(Splice(answer.Error, edits...))
	}
	answer.Free()
	return edited
}

// ErrorAnswer answers with an error object that has no data.
func ErrorAnswer(code int64, message string) Answer {
	return Answer{Error: (&Error{Code: code, Message: message}).Raw()}
}

// RefuseParams answers that the params of a request are not as they must be.
func RefuseParams(message string) Answer { return ErrorAnswer(CodeInvalidParams, message) }

// RefuseMethod answers that there is no such method here.
func RefuseMethod(message string) Answer { return ErrorAnswer(CodeMethodNotFound, message) }

// AnswerFailure answers that a request failed for no fault of its own.
func AnswerFailure(message string) Answer { return ErrorAnswer(CodeInternal, message) }

// AnswerParts returns the parts of the frame that answers a request; id is raw.
func AnswerParts(id []byte, answer Answer) [5][]byte {
	member, body := answer.memberAndBody()
	return [...][]byte{headID, id, member, body, endObject}
}

// memberAndBody returns the member of the envelope and its value that a makes.
func (answer Answer) memberAndBody() (member, body []byte) {
	switch {
	case answer.Result != nil:
		return memberAnswer, answer.Result
	case answer.Error != nil:
		return memberFault, answer.Error
	}
	return memberFault, (&Error{Code: CodeInternal, Message: "the request was not answered"}).Raw()
}

// Free gives back what the answer borrows, once it was written or no one wants it.
func (answer Answer) Free() {
	if answer.Release != nil {
		answer.Release()
	}
}
