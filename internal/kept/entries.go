package kept

import "bytes"

// Words of an entry.
const (
	entryLine = 0  // the number of the line of the request; 0: the entry does not count
	entryEnd  = 8  // the place at which the frame ends in the output that answers the request, or that asks the question
	entryText = 16 // the kind, and the length of the id
)

// Kinds of entries.
const (
	request  = 0
	question = 1 << 32 // of the hub, to the client
)

// An Entry is one open request. A nil Entry belongs to a session whose state is not kept.
type Entry struct {
	m    *Memory
	at   int
	self [1]*Entry
}

// Marks returns the entries that a frame is about: this one.
func (e *Entry) Marks() []*Entry {
	if e == nil {
		return nil
	}
	return e.self[:]
}

func (m *Memory) entryAt(i int) int { return headSize + i*m.entrySize }

// Open enters a request of the client, which stands in the line that is taken next. nil: there is no room.
func (m *Memory) Open(id []byte) *Entry {
	if m == nil {
		return nil
	}
	return m.enterRequest(id, request, m.in.line+1)
}

// Ask enters a request of the hub.
func (m *Memory) Ask(id []byte) *Entry {
	if m == nil {
		return nil
	}
	return m.enterRequest(id, question, 1)
}

func (m *Memory) enterRequest(id []byte, kind, line uint64) *Entry {
	if len(id) > m.ID {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b == nil {
		return nil
	}
	var e *Entry
	switch n := len(m.free); {
	case n > 0:
		e, m.free = m.free[n-1], m.free[:n-1]
	case m.used < m.Requests:
		e = m.entryOf(m.used)
		m.used++
	default:
		return nil
	}
	m.storeWord(e.at+entryLine, 0)
	m.putBytes(e.at+entryHead, id)
	m.storeWord(e.at+entryText, kind|uint64(len(id)))
	m.storeWord(e.at+entryEnd, 0)
	m.storeWord(e.at+entryLine, line)
	return e
}

func (m *Memory) entryOf(i int) *Entry {
	e := &Entry{m: m, at: m.entryAt(i)}
	e.self[0] = e
	return e
}

// Void takes the request out: no one waits for an answer any more.
func (e *Entry) Void() {
	if e == nil {
		return
	}
	e.m.mu.Lock()
	defer e.m.mu.Unlock()
	if e.m.b == nil {
		return
	}
	e.m.storeWord(e.at+entryLine, 0)
	e.m.free = append(e.m.free, e)
}

// restoreEntries finds the entries that count. restoreInput and restoreOutput come first.
func (m *Memory) restoreEntries() error {
	for i := range m.Requests {
		e := m.entryOf(i)
		line, end, text := m.loadWord(e.at+entryLine), m.loadWord(e.at+entryEnd), m.loadWord(e.at+entryText)
		if line == 0 && text == 0 { // entries are used in order
			break
		}
		m.used = i + 1
		if text&^question > uint64(m.ID) {
			return errForged
		}
		sent := end != 0 && end <= m.accepted
		if line == 0 || line > m.in.line && text&question == 0 || sent == (text&question == 0) {
			m.storeWord(e.at+entryLine, 0) // a line with this number is still to come
			m.free = append(m.free, e)
			continue
		}
		if !sent {
			m.storeWord(e.at+entryEnd, 0) // other frames will end there
		}
		m.open = append(m.open, e)
	}
	return nil
}

// Left returns the requests that were open when the former hub ended: requests of the client that were not
// answered, and requests of the hub that were sent. Each is to be answered, or voided.
func (m *Memory) Left() (requests, questions []*Entry) {
	if m == nil {
		return nil, nil
	}
	for _, e := range m.open {
		if m.loadWord(e.at+entryText)&question != 0 {
			questions = append(questions, e)
		} else {
			requests = append(requests, e)
		}
	}
	m.open = nil
	return requests, questions
}

// Line returns the number of the line that the request stands in.
func (e *Entry) Line() uint64 { return e.m.loadWord(e.at + entryLine) }

// ID returns a copy of the raw id.
func (e *Entry) ID() []byte {
	n := int(min(e.m.loadWord(e.at+entryText)&^question, uint64(e.m.ID)))
	return bytes.Clone(e.m.b[e.at+entryHead : e.at+entryHead+n])
}
