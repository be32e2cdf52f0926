package kept

import (
	"sync/atomic"
	"unsafe"
)

// Words of an attempt to write.
const (
	attemptBase  = 0 // how much had left before
	attemptBytes = 8 // how much is in the adapter's pipe since, or where in the memory the bytes stand that are spliced
	attemptMade  = 16
)

// How an attempt was made.
const (
	byPipe   = 1 // what is no more in the adapter's pipe has left
	bySocket = 2 // what the kernel has put at atSent has left
	bySplice = 3 // what stands before the place that the kernel has put at atSent has left
)

// Longest returns how many bytes the longest frame that ever finds room has, with its line end.
func (m *Memory) Longest() int { return m.outputSize }

// Room reports whether a frame of so many bytes finds room.
func (m *Memory) Room(total int) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.accepted-m.passed+uint64(total) <= uint64(m.outputSize)
}

// Output returns how much has left for the client, and how much was accepted, since the session began.
func (m *Memory) Output() (passed, accepted uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.passed, m.accepted
}

// Append accepts a frame, given in parts, and a line end. It answers the requests of marks, or asks the question of one. The
// caller has asked for Room.
func (m *Memory) Append(parts [][]byte, marks []*Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.passed == m.accepted && m.origin != m.accepted { // nothing is in it
		m.origin = m.accepted
		m.storeWord(atOrigin, m.origin)
	}
	end := m.accepted
	for _, p := range parts {
		end = m.fillBehind(end, p)
	}
	end = m.fillBehind(end, newline)
	for _, e := range marks {
		m.storeWord(e.at+entryEnd, end)
	}
	m.storeWord(atAccepted, end)
	m.accepted = end
	for _, e := range marks {
		if m.loadWord(e.at+entryText)&question == 0 {
			m.free = append(m.free, e)
		}
	}
}

var newline = []byte{'\n'}

// fillBehind copies bytes behind the ones that were accepted.
func (m *Memory) fillBehind(at uint64, b []byte) uint64 {
	for len(b) > 0 {
		i := m.indexOf(at)
		n := min(len(b), m.outputSize-i)
		m.putBytes(m.output+i, b[:n])
		m.high = max(m.high, i+n)
		at, b = at+uint64(n), b[n:]
	}
	return at
}

func (m *Memory) indexOf(at uint64) int { return int((at - m.origin) % uint64(m.outputSize)) }

// nextBytes returns what is to leave next.
func (m *Memory) nextBytes() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, n := m.indexOf(m.passed), int(m.accepted-m.passed)
	n = min(n, m.outputSize-i)
	return m.b[m.output+i : m.output+i+n]
}

// noteLeft remembers that n more bytes have left. If nothing is in the output then, it gives back the memory of a large frame.
func (m *Memory) noteLeft(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.passed += uint64(n)
	if m.passed == m.accepted && m.high > 2*stays {
		m.punchPages(m.output+stays, m.high-stays)
		m.high = stays
	}
}

// commitAttempt commits an attempt that begins where the last one ended, and returns its slot.
func (m *Memory) commitAttempt() (slot int) {
	next := m.loadWord(atAttempt) + 1
	slot = atAttempts + int(next&1)*attemptSlot
	m.storeWord(slot+attemptMade, 0)
	m.storeWord(slot+attemptBytes, 0)
	m.storeWord(slot+attemptBase, m.passed)
	m.storeWord(atAttempt, next)
	return slot
}

func (m *Memory) sentBySocket() uint64 {
	return uint64(atomic.LoadUint32((*uint32)(unsafe.Pointer(m.wordAt(atSent)))))
}

// restoreOutput finds out how much has left.
func (m *Memory) restoreOutput() error {
	m.accepted, m.origin = m.loadWord(atAccepted), m.loadWord(atOrigin)
	slot := atAttempts + int(m.loadWord(atAttempt)&1)*attemptSlot
	base, n := m.loadWord(slot+attemptBase), m.loadWord(slot+attemptBytes)
	sent, between := uint64(0), m.between
	switch made := m.loadWord(slot + attemptMade); {
	case between < 0 || made != bySplice && n > uint64(m.outputSize) || made == bySplice && between > 0:
		return errForged
	case made == bySplice:
		sent = m.loadWord(atSent) - n
	case made == bySocket:
		sent = m.sentBySocket()
	case made == byPipe && uint64(between) > n:
		return errForged
	case made == byPipe:
		sent = n - uint64(between)
	case between > 0: // it was put there, and none of it can have left
		m.storeWord(slot+attemptBytes, uint64(between))
		m.storeWord(slot+attemptMade, byPipe)
	}
	m.passed = base + sent
	if m.passed < base || m.passed > m.accepted || m.accepted-m.passed > uint64(m.outputSize) || m.origin > m.passed ||
		uint64(between) > m.accepted-m.passed {
		return errForged
	}
	m.high = m.outputSize
	return nil
}
