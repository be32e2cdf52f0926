package kept

import (
	"bytes"
	"sync/atomic"
	"unsafe"
)

// Arena returns the memory that is read into.
func (m *Memory) Arena() []byte { return m.b[m.input : m.input+m.inputSize] }

// commitPlace makes p the place that counts.
func (m *Memory) commitPlace(p place) {
	next := m.loadWord(atInput) + 1
	at := atInputSlots + int(next&1)*inputSlot
	m.storeWord(at, uint64(p.start))
	m.storeWord(at+8, uint64(p.end))
	m.storeWord(at+16, p.flags)
	m.storeWord(at+24, p.line)
	m.storeWord(atInput, next)
	m.in = p
}

// restoreInput finds what was read. Bytes of a read whose end was not committed are found behind the end.
func (m *Memory) restoreInput() error {
	at := atInputSlots + int(m.loadWord(atInput)&1)*inputSlot
	start, end, flags, line := m.loadWord(at), m.loadWord(at+8), m.loadWord(at+16), m.loadWord(at+24)
	if start > end || end > uint64(m.inputSize) || flags > reading|skipping {
		return errForged
	}
	p := place{int(start), int(end), flags, line}
	arena := m.Arena()
	if flags&reading != 0 {
		last := min(p.end+MostRead, m.inputSize)
		p.end += len(bytes.TrimRight(arena[p.end:last], "\x00"))
		p.flags &^= reading
	}
	m.commitPlace(p)
	from := roundUp(p.end, page)
	clear(arena[p.end:from])
	m.punchPages(m.input+from, m.inputSize-from)
	m.dirty = p.end
	return nil
}

// Pending returns where the bytes stand that were read and are not taken, and whether they are the rest of a line
// that is dropped.
func (m *Memory) Pending() (start, end int, skips bool) {
	return m.in.start, m.in.end, m.in.flags&skipping != 0
}

// Begun reports whether a line was taken since the session began.
func (m *Memory) Begun() bool { return m.in.line > 0 }

// Line returns how many lines were taken.
func (m *Memory) Line() uint64 { return m.in.line }

// Reading is called before up to n bytes are read to end. What is not taken yet begins at start.
func (m *Memory) Reading(start, end, n int) {
	arena := m.Arena()
	if m.dirty > end {
		if from := max(stays, roundUp(end, page)); m.dirty > from {
			m.punchPages(m.input+from, roundUp(m.dirty, page)-from)
			m.faced, m.dirty = min(m.faced, from), from
		}
		clear(arena[end:m.dirty])
		m.dirty = end
	}
	// The kernel must not fault on these pages: a fault in a process that is being killed leaves bytes in the stream that
	// were copied.
	for ; m.faced < end+n; m.faced += page {
		touchPage(&arena[m.faced])
	}
	m.commitPlace(place{start, end, m.in.flags | reading, m.in.line})
}

// touchPage has the page of a byte, its first one, be there, to be written to. The compiler keeps an atomic operation even if it
// changes nothing.
func touchPage(b *byte) { atomic.AddUint32((*uint32)(unsafe.Pointer(b)), 0) }

// Read is called after a read, with the new end.
func (m *Memory) Read(start, end int) {
	m.dirty = max(m.dirty, end)
	m.commitPlace(place{start, end, m.in.flags &^ reading, m.in.line})
}

// Move moves the n bytes from start on to the beginning. They must not overlap.
func (m *Memory) Move(start, n int) {
	m.putBytes(m.input, m.Arena()[start:start+n])
	m.commitPlace(place{0, n, m.in.flags, m.in.line})
}

// Take commits that a line was taken: what comes next begins at start.
func (m *Memory) Take(start, end int) { m.commitPlace(place{start, end, 0, m.in.line + 1}) }

// Skip commits that the bytes up to the end of a line are dropped.
func (m *Memory) Skip() { m.commitPlace(place{0, 0, skipping, m.in.line}) }
