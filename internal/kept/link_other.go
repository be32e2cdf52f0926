//go:build !linux

package kept

import "errors"

// An outputPath is the way of the bytes to the client: there is none here.
type outputPath struct{ between int }

// Files are the descriptors that an adapter holds for its session.
type Files [3]int

// Open reports that this system has no such memory.
func Open(Files, Limits, int) (*Memory, bool, error) { return nil, false, errors.ErrUnsupported }

// Close does nothing.
func (*Memory) Close() {}

func (m *Memory) punchPages(at, n int) { clear(m.b[at : at+n]) }

// Send is not called here.
func (*Memory) Send(int, [][]byte) (int, error) { return 0, errors.ErrUnsupported }
