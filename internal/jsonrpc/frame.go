package jsonrpc

import (
	"strconv"
	"sync"
)

// frame is what an outgoing frame is put together in. It is used again once
// the Writer has let go of it; after an error it is left to the collector.
type frame struct {
	head  []byte
	parts [][]byte
}

var frames = sync.Pool{New: func() any {
	return &frame{head: make([]byte, 0, 256), parts: make([][]byte, 0, 8)}
}}

func newFrame() *frame { return frames.Get().(*frame) }

func (f *frame) freeFrame() {
	if cap(f.head) > 4096 || cap(f.parts) > 64 {
		return
	}
	clear(f.parts)
	f.head, f.parts = f.head[:0], f.parts[:0]
	frames.Put(f)
}

const memberID0 = `{"jsonrpc":"2.0","id":`

var (
	headID       = []byte(memberID0)
	endObject    = []byte{'}'}
	memberAnswer = []byte(`,"result":`)
	memberFault  = []byte(`,"error":`)
)

// makeRequest makes the frame a request of our own.
func (f *frame) makeRequest(n uint64, method string, params [][]byte) {
	f.head = strconv.AppendUint(append(f.head, memberID0...), n, 10)
	f.endMethod(method, params)
}

// makeNotification makes the frame one.
func (f *frame) makeNotification(method string, params [][]byte) {
	f.head = append(f.head, `{"jsonrpc":"2.0"`...)
	f.endMethod(method, params)
}

// endMethod ends the frame whose head has been started with a method and its params.
func (f *frame) endMethod(name string, params [][]byte) {
	f.head = AppendString(append(f.head, `,"method":`...), name)
	size := 0
	for _, p := range params {
		size += len(p)
	}
	if size == 0 {
		f.head = append(f.head, '}')
		f.parts = append(f.parts, f.head)
		return
	}
	f.head = append(f.head, `,"params":`...)
	f.parts = append(append(append(f.parts, f.head), params...), endObject)
}

// RequestParts returns the parts of the frame of a request, or of a notification where
// id, which is raw, is nil.
func RequestParts(id []byte, method string, params [][]byte) [][]byte {
	var f frame
	if id == nil {
		f.makeNotification(method, params)
	} else {
		f.head = append(append(f.head, memberID0...), id...)
		f.endMethod(method, params)
	}
	return f.parts
}

// makeAnswer makes the frame an answer, and returns how long its result or error is.
func (f *frame) makeAnswer(id string, answer Answer) (size int) {
	member, body := answer.memberAndBody()
	f.head = append(append(append(f.head, memberID0...), id...), member...)
	f.parts = append(f.parts, f.head, body, endObject)
	return len(body)
}
