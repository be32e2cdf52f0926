package kept

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"mcphub/e2e/seeds"
)

// small is what the tests lay out: the output and the input wrap and move often.
var small = Limits{Frame: 64, ID: 16, Requests: 8}

// smallLayout has less room than any hub would give.
func smallLayout() layout {
	p := small.layoutFor()
	p.recordSize, p.outputSize, p.inputSize = 128, 256, page
	p.output = p.records + 2*p.recordSize
	p.input = p.output + p.outputSize
	p.size = p.input + p.inputSize
	return p
}

func newSmall(t *testing.T) *Memory {
	p := smallLayout()
	m := &Memory{layout: p, b: make([]byte, p.size)}
	m.storeWord(atMagic, magic)
	return m
}

// reopen returns what another hub makes of a copy of the memory.
func reopen(t *testing.T, b []byte) *Memory {
	t.Helper()
	m := &Memory{layout: smallLayout(), b: bytes.Clone(b)}
	for _, part := range []func() error{m.restoreInput, m.restoreOutput, m.restoreEntries} {
		if err := part(); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

func ids(all []*Entry) (out []string) {
	for _, e := range all {
		out = append(out, string(e.ID()))
	}
	slices.Sort(out)
	return out
}

// TestACrashAfterEachStore has a hub read requests, answer some and ask some, and copies the memory after each store, which is all that
// kill -9 leaves. In each copy, another hub finds each byte of the client that no line was taken from, each byte for the client that has not
// left, and each request either in the input, or open, or answered.
func TestACrashAfterEachStore(t *testing.T) {
	r := seeds.Rand(t)
	m := newSmall(t)
	var said []byte               // by the client, all of it
	var sent [][2]int             // lines of it
	read, left := 0, []byte(nil)  // by the hub; for the client
	frames := map[string]string{} // answers, by id
	questions := map[string]bool{}
	closed := map[string]bool{} // questions that were answered
	crashes := 0
	now := func() { // looks at the memory as it is
		crashes++
		n := reopen(t, m.b)
		start, end, _ := n.Pending()
		requests, asked := n.Left()
		open := ids(requests)
		rest := string(n.Arena()[start:end])
		if !bytes.HasSuffix(said[:read], []byte(rest)) {
			t.Fatalf("the input holds %q and the client has sent %q", rest, said[:read])
		}
		out := ""
		for b := n.nextBytes(); len(b) > 0; b = n.nextBytes() {
			out += string(b)
			n.noteLeft(len(b))
		}
		whole := string(left) + out
		for i, at := range sent {
			id := fmt.Sprint(i)
			if at[1] > read {
				continue
			}
			here := 0
			if read-len(rest) <= at[0] { // the line is not taken
				here++
			}
			for _, o := range open {
				if o == id {
					here++
				}
			}
			if bytes.Contains([]byte(whole), []byte("answer "+id+".\n")) {
				here++
			}
			if here != 1 {
				t.Fatalf("crash %d: request %s is %d times: in the input %q, open %v, in the output %q", crashes, id, here, rest, open, whole)
			}
		}
		for _, id := range ids(asked) {
			if !bytes.Contains([]byte(whole), []byte("ask "+id+".\n")) || closed[id] {
				t.Fatalf("question %s is open, and the output %q", id, whole)
			}
		}
	}
	m.stored = now
	start, end := 0, 0
	var waiting []*Entry
	var asked []*Entry
	for step := range 400 {
		switch k := r.IntN(5); {
		case k == 0: // the client sends, and the hub reads
			line := fmt.Appendf(nil, "request %d.%s\n", len(sent), bytes.Repeat([]byte{'x'}, r.IntN(20)))
			sent = append(sent, [2]int{len(said), len(said) + len(line)})
			said = append(said, line...)
		case k == 1 && read < len(said):
			if start == end {
				start, end = 0, 0
			} else if n := end - start; start >= n && r.IntN(2) == 0 {
				m.Move(start, n)
				start, end = 0, n
			}
			n := 1 + r.IntN(len(said)-read)
			if end+n > m.inputSize {
				continue
			}
			m.Reading(start, end, n)
			copy(m.Arena()[end:], said[read:read+n]) // as the kernel does
			read += n
			now() // before the hub knows
			end += n
			m.Read(start, end)
		case k == 2: // it takes a line
			i := bytes.IndexByte(m.Arena()[start:end], '\n')
			if i < 0 || len(waiting) > 5 {
				continue
			}
			id, _, _ := bytes.Cut(m.Arena()[start+len("request "):start+i], []byte{'.'})
			e := m.Open(bytes.Clone(id))
			start += i + 1
			m.Take(start, end)
			if e == nil {
				t.Fatal("no room for an entry")
			}
			waiting = append(waiting, e)
		case k == 3 && len(waiting) > 0: // it answers
			e := waiting[r.IntN(len(waiting))]
			answer := fmt.Sprintf("answer %s.", e.ID())
			if !m.Room(len(answer) + 1) {
				continue
			}
			waiting = slices.DeleteFunc(waiting, func(o *Entry) bool { return o == e })
			frames[string(e.ID())] = answer
			m.Append([][]byte{[]byte(answer[:3]), []byte(answer[3:])}, e.Marks())
		case k == 4 && len(asked) < 2 && m.Room(20):
			id := fmt.Sprintf("q%d", step)
			e := m.Ask([]byte(id))
			if e == nil {
				continue
			}
			questions[id] = true
			m.Append([][]byte{[]byte("ask " + id + ".")}, e.Marks())
			asked = append(asked, e)
		case k == 4 && len(asked) > 0: // the client answers
			id := string(asked[0].ID())
			asked[0].Void()
			closed[id] = true
			asked = asked[1:]
		}
		if b := m.nextBytes(); len(b) > 0 && r.IntN(2) == 0 { // the client takes some
			n := 1 + r.IntN(len(b))
			slot := m.commitAttempt()
			m.storeWord(slot+attemptBytes, uint64(n))
			// Both come to be at once: the kernel moves the bytes on.
			left = append(left, b[:n]...)
			m.stored = nil
			m.storeWord(slot+attemptMade, byPipe)
			m.stored = now
			m.noteLeft(n)
			now()
		}
	}
	if crashes < 1000 || len(frames) < 20 || len(questions) < 5 {
		t.Errorf("%d crashes, %d answers, %d questions: nothing was shown", crashes, len(frames), len(questions))
	}
}

// TestTheRecordIsWhole: after each store the record is the former one, or the new one.
func TestTheRecordIsWhole(t *testing.T) {
	m := newSmall(t)
	was, is := "", ""
	m.stored = func() {
		if got := string(reopen(t, m.b).Record()); got != was && got != is {
			t.Fatalf("the record is %q: neither %q nor %q", got, was, is)
		}
	}
	for n := range 10 {
		was, is = is, fmt.Sprintf("%d%s", n, bytes.Repeat([]byte{'r'}, n*7))
		if !m.SaveRecord([]byte(is)) {
			t.Fatal("no room")
		}
	}
	if m.SaveRecord(make([]byte, m.recordSize+1)) || string(m.Record()) != is {
		t.Error("a record that is too long is taken")
	}
}

// TestACallCostsNoMemory: what is kept of a call is stored in place.
func TestACallCostsNoMemory(t *testing.T) {
	m := newSmall(t)
	id, parts := []byte("1"), [][]byte{[]byte("{"), []byte("}")}
	call := func() {
		m.Reading(0, 0, 8)
		m.Read(0, 8)
		e := m.Open(id)
		m.Take(8, 8)
		m.Append(parts, e.Marks())
		m.noteLeft(len(m.nextBytes()))
	}
	call()
	if n := testing.AllocsPerRun(100, call); n != 0 {
		t.Errorf("a call allocates %v times", n)
	}
}

// TestForgedMemory: whatever another process has put into the memory, it is refused, or none of it leads out of the memory.
func TestForgedMemory(t *testing.T) {
	r := seeds.Rand(t)
	refused, taken := 0, 0
	for range 2000 {
		m := newSmall(t)
		e := m.Open([]byte("1"))
		m.Reading(0, 0, 100)
		copy(m.Arena(), "request\n")
		m.Read(0, 8)
		m.Take(8, 8)
		m.Append([][]byte{[]byte("x")}, e.Marks())
		for range 1 + r.IntN(4) {
			at := []int{8 * r.IntN(64), headSize + 8*r.IntN(small.Requests*m.entrySize/8)}[r.IntN(2)]
			m.storeWord(at, []uint64{r.Uint64(), uint64(r.IntN(1 << 13)), ^uint64(0), 1 << 63}[r.IntN(4)])
		}
		n := &Memory{layout: smallLayout(), b: m.b}
		n.between = []int{0, r.IntN(300)}[r.IntN(2)]
		if n.restoreInput() != nil || n.restoreOutput() != nil || n.restoreEntries() != nil {
			refused++
			continue
		}
		taken++
		requests, questions := n.Left()
		for _, e := range append(requests, questions...) {
			_ = e.ID()
			e.Void()
		}
		n.noteLeft(len(n.nextBytes()))
		_ = n.Record()
		if n.Room(10) {
			n.Append([][]byte{[]byte("frame")}, nil)
		}
		start, end, _ := n.Pending()
		_ = n.Arena()[start:end]
	}
	if refused < 100 || taken < 100 {
		t.Errorf("%d were refused and %d taken: nothing was shown", refused, taken)
	}
	full := make([]byte, small.layoutFor().size)
	if _, err := restoreMemory(full, outputPath{}); err == nil {
		t.Error("memory that no hub has laid out is read")
	}
	if _, err := createMemory(full[:page], small, outputPath{}); err == nil {
		t.Error("memory that is too short is laid out")
	}
}

// TestASecondCrash: what did not count at the first one does not count at the second.
func TestASecondCrash(t *testing.T) {
	m := newSmall(t)
	m.Open([]byte("1")) // its line is not taken
	n := reopen(t, m.b)
	n.Take(0, 0) // of a notification
	if requests, _ := reopen(t, n.b).Left(); len(requests) > 0 {
		t.Errorf("an entry whose line was not taken: %q", ids(requests))
	}
	m = newSmall(t)
	e := m.Open([]byte("1"))
	m.Take(0, 0)
	m.storeWord(e.at+entryEnd, 5) // its answer is not accepted
	n = reopen(t, m.b)
	n.Append([][]byte{[]byte("another frame")}, nil)
	if requests, _ := reopen(t, n.b).Left(); !slices.Equal(ids(requests), []string{"1"}) {
		t.Errorf("an entry whose answer was not accepted: %q", ids(requests))
	}
}
