package kept

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Places of words in the header.
const (
	atSent       = 0 // the first word: of a socket, the kernel puts how much has left there
	atMagic      = 8
	atSize       = 16
	atFrame      = 24
	atID         = 32
	atEntries    = 40
	atGeneration = 48
	atInput      = 64  // selector
	atInputSlots = 72  // two slots of inputSlot bytes
	atRecord     = 160 // selector
	atRecordLen  = 168 // two words
	atAccepted   = 192
	atOrigin     = 200
	atAttempt    = 208 // selector
	atAttempts   = 256 // two slots of attemptSlot bytes
)

const (
	magic       = uint64('m') | 'c'<<8 | 'p'<<16 | 'h'<<24 | 'u'<<32 | 'b'<<40 | '1'<<56
	headSize    = 4096
	inputSlot   = 32 // start, end, flags, line
	attemptSlot = 32 // base, bytes, made
	// entryHead is what an entry has beside the id: the line, the end of the answer, the kind and the id's length.
	entryHead = 24
	// stays is how much of the output and of the input keeps its memory while it is not used.
	stays = 2 << 20
	// MostRead is how many bytes one read may bring.
	MostRead = 512 << 10
)

// Limits are what a Memory is laid out for.
type Limits struct {
	Frame    int // bytes of one line
	ID       int // bytes of an id
	Requests int // open at a time
}

// A layout holds the place of each part.
type layout struct {
	Limits
	entrySize, records, recordSize, output, outputSize, input, inputSize, size int
}

const page = 4096

func roundUp(n, to int) int { return (n + to - 1) / to * to }

func (l Limits) layoutFor() layout {
	p := layout{Limits: l, recordSize: 1 << 20, entrySize: entryHead + roundUp(l.ID, 8)}
	p.records = headSize + roundUp(l.Requests*p.entrySize, page)
	p.output = p.records + 2*p.recordSize
	p.outputSize = roundUp(2*l.Frame+32<<20, page)
	p.input = p.output + p.outputSize
	p.inputSize = roundUp(2*l.Frame+2*MostRead+page, page)
	p.size = p.input + p.inputSize
	return p
}

// What a memory is laid out for at most.
const (
	maxFrame    = 1 << 32
	maxID       = 1 << 20
	maxRequests = 1 << 20
)

func (l Limits) areValid() bool {
	return l.Frame > 0 && l.Frame <= maxFrame && l.ID > 0 && l.ID <= maxID && l.Requests > 0 && l.Requests <= maxRequests
}

// A Memory holds the state of one session.
type Memory struct {
	layout
	b      []byte
	stored func() // tests: called after each store

	in    place // of the input, as it was committed last
	dirty int   // bytes of the input from here on are 0
	faced int   // pages of the input up to here are there

	mu   sync.Mutex
	free []*Entry
	used int // entries from here on were never used
	open []*Entry

	accepted, passed, origin uint64
	high                     int // bytes of the output from here on have no memory

	outputPath
}

// A place is the place of the reader of the input.
type place struct {
	start, end int
	flags      uint64
	line       uint64 // how many lines were taken
}

const (
	reading  = 1 << iota // bytes may stand behind end
	skipping             // the rest of a line that is too long is dropped
)

var errForged = errors.New("the kept state of the session is not what a hub has written")

func (m *Memory) wordAt(at int) *uint64  { return (*uint64)(unsafe.Pointer(&m.b[at])) }
func (m *Memory) loadWord(at int) uint64 { return atomic.LoadUint64(m.wordAt(at)) }
func (m *Memory) storeWord(at int, v uint64) {
	atomic.StoreUint64(m.wordAt(at), v)
	if m.stored != nil {
		m.stored()
	}
}

// putBytes copies bytes to a place that does not count yet.
func (m *Memory) putBytes(at int, b []byte) {
	if m.stored != nil && len(b) > 1 {
		copy(m.b[at:], b[:len(b)/2])
		m.stored()
	}
	copy(m.b[at:], b)
	if m.stored != nil {
		m.stored()
	}
}

// createMemory lays out memory that is all 0.
func createMemory(b []byte, l Limits, by outputPath) (*Memory, error) {
	if !l.areValid() || len(b) != l.layoutFor().size {
		return nil, fmt.Errorf("no state of a session can be kept in %d bytes", len(b))
	}
	m := &Memory{layout: l.layoutFor(), b: b, outputPath: by}
	if m.loadWord(atMagic) != 0 { // another version's
		return nil, errForged
	}
	m.storeWord(atSize, uint64(m.size))
	m.storeWord(atFrame, uint64(l.Frame))
	m.storeWord(atID, uint64(l.ID))
	m.storeWord(atEntries, uint64(l.Requests))
	m.storeWord(atMagic, magic)
	return m, nil
}

// readHead reports whether a hub has laid out a memory with this beginning, and for what.
func readHead(head []byte) (l Limits, ok bool) {
	if len(head) < headSize || binary.NativeEndian.Uint64(head[atMagic:]) != magic {
		return l, false
	}
	at := func(at int) int { return int(binary.NativeEndian.Uint64(head[at:])) }
	return Limits{Frame: at(atFrame), ID: at(atID), Requests: at(atEntries)}, true
}

// restoreMemory reads what another hub has kept. The link holds the origin of the memory, and how many bytes are left in the
// adapter's pipe.
func restoreMemory(b []byte, by outputPath) (*Memory, error) {
	if len(b) < headSize {
		return nil, errForged
	}
	l, ok := readHead(b[:headSize])
	if !ok || !l.areValid() || l.layoutFor().size != len(b) {
		return nil, errForged
	}
	m := &Memory{layout: l.layoutFor(), b: b, outputPath: by}
	for _, part := range []func() error{m.restoreInput, m.restoreOutput, m.restoreEntries} {
		if err := part(); err != nil {
			return nil, err
		}
	}
	if m.loadWord(atRecordLen) > uint64(m.recordSize) || m.loadWord(atRecordLen+8) > uint64(m.recordSize) || m.loadWord(atGeneration) >= maxGeneration {
		return nil, errForged
	}
	m.storeWord(atGeneration, m.loadWord(atGeneration)+1)
	return m, nil
}

// maxGeneration keeps ids below 2^53.
const maxGeneration = 1 << 20

// FirstID returns the number behind which the ids of this hub's own requests begin: no other hub of the session has any of them.
func (m *Memory) FirstID() uint64 {
	if m == nil {
		return 0
	}
	return m.loadWord(atGeneration) << 32
}

// SaveRecord replaces the record by b; false: b is too long.
func (m *Memory) SaveRecord(b []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(b) > m.recordSize || m.b == nil {
		return false
	}
	next := m.loadWord(atRecord) + 1
	m.putBytes(m.records+int(next&1)*m.recordSize, b)
	m.storeWord(atRecordLen+int(next&1)*8, uint64(len(b)))
	m.storeWord(atRecord, next)
	return true
}

// Record returns a copy of what SaveRecord was given last, by this hub or another.
func (m *Memory) Record() []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.b == nil {
		return nil
	}
	at := m.loadWord(atRecord) & 1
	n := min(m.loadWord(atRecordLen+int(at)*8), uint64(m.recordSize))
	from := m.records + int(at)*m.recordSize
	return append([]byte(nil), m.b[from:from+int(n)]...)
}
