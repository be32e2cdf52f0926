package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/internal/nesting"
)

// An Entry is one line, read.
type Entry struct {
	Version int       `json:"v"`
	Log     string    `json:"log"` // of an open line, and of lines of chain.jsonl
	Number  uint64    `json:"n"`
	Prev    string    `json:"prev"`
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Hash    string    `json:"hash"`

	// Of a torn line, and of lines of chain.jsonl.
	Bytes  uint64 `json:"bytes"`
	SHA256 string `json:"sha256"`
	At     uint64 `json:"at"`
	Head   string `json:"head"`
	From   uint64 `json:"from"` // this and the next: of a removed line
	First  string `json:"first"`

	Raw []byte `json:"-"` // without its line end
}

const (
	hashMember = `,"hash":"`
	hashLen    = 2 * sha256.Size
	tailLen    = len(hashMember) + hashLen + len(`"}`)
)

var (
	errNoLine    = errors.New("it is no whole line of an audit log")
	errHash      = errors.New("it is not as it was written: its hash does not match")
	errTooDeep   = errors.New("its hash is right, and it nests deeper than anything that mcphub writes")
	errAmbiguous = errors.New("its hash is right, and it is nothing that mcphub writes: no JSON, or a name stands in it twice, or it is not UTF-8")
)

// ReadLine reads a line and checks its own hash. What the chain depends on must
// stand exactly where the format has it. So every reader reads the same, or refuses
// the line.
func ReadLine(b []byte) (Entry, error) {
	e, err := WholeLine(b)
	if err != nil {
		return e, err
	}
	// Escaped halves of surrogates are let pass: an id of a client may hold one.
	if !utf8.Valid(b) || !jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true)) {
		return e, errAmbiguous
	}
	e.Raw = b
	return e, nil
}

// WholeLine works like ReadLine, but for the JSON of what the chain does not depend on.
func WholeLine(b []byte) (Entry, error) {
	var e Entry
	if len(b) < tailLen {
		return e, errNoLine
	}
	tail := scan{b[len(b)-tailLen:], true}
	e.Hash = tail.expectText(hashMember).readHex()
	if tail.expectText(`"}`); !tail.ok {
		return e, errNoLine
	}
	sum := sha256.Sum256(b[:len(b)-tailLen])
	var text [hashLen]byte
	hex.Encode(text[:], sum[:])
	if e.Hash != string(text[:]) {
		return e, errHash
	}
	if err := e.readHead(b); err != nil {
		return e, err
	}
	if nesting.TooDeep(b, maxLevels) >= 0 {
		return e, errTooDeep
	}
	return e, nil
}

// readHead reads what stands at the beginning of a line.
func (entry *Entry) readHead(b []byte) (err error) {
	s := scan{b, true}
	version := s.expectText(`{"v":`).readNumber()
	if s.ok && version != Version {
		return fmt.Errorf("its format %d is not known", version)
	}
	entry.Version = int(version)
	entry.Number = s.expectText(`,"n":`).readNumber()
	entry.Prev = s.expectText(`,"prev":"`).readHex()
	at := s.expectText(`","time":"`).takeBytes(len(TimeFormat))
	s.expectText(`","kind":"`)
	n := 0
	for n < len(s.b) && 'a' <= s.b[n] && s.b[n] <= 'z' {
		n++
	}
	entry.Kind = s.takeBytes(n)
	if s.expectText(`"`); !s.ok || n == 0 {
		return errAmbiguous
	}
	if entry.Time, err = time.Parse(TimeFormat, at); err != nil {
		return errAmbiguous
	}
	if s.acceptText(`,"log":"`) {
		entry.Log = s.takeBytes(36)
		s.expectText(`"`)
	}
	if s.acceptText(`,"at":`) {
		entry.At = s.readNumber()
		entry.Head = s.expectText(`,"head":"`).readHex()
		s.expectText(`"`)
	}
	if s.acceptText(`,"from":`) {
		entry.From = s.readNumber()
		entry.First = s.expectText(`,"first":"`).readHex()
		s.expectText(`"`)
	}
	if s.acceptText(`,"bytes":`) {
		entry.Bytes = s.readNumber()
		entry.SHA256 = s.expectText(`,"sha256":"`).readHex()
		s.expectText(`"`)
	}
	if !s.ok {
		return errAmbiguous
	}
	return nil
}

// HeadNumber reads the number of a line from the begin of it.
func HeadNumber(b []byte) (number uint64, ok bool) {
	s := scan{b, true}
	number = s.expectText(`{"v":1,"n":`).readNumber()
	return number, s.ok
}

// scan reads a text from its beginning, until something is not as it must be.
type scan struct {
	b  []byte
	ok bool
}

func (s *scan) expectText(text string) *scan {
	s.ok = s.ok && s.acceptText(text)
	return s
}

// acceptText consumes a text if it comes next, and reports whether it did.
func (s *scan) acceptText(text string) bool {
	rest, ok := bytes.CutPrefix(s.b, []byte(text))
	s.b = rest
	return ok
}

func (s *scan) takeBytes(n int) string {
	if s.ok = s.ok && len(s.b) >= n; !s.ok {
		return ""
	}
	text := string(s.b[:n])
	s.b = s.b[n:]
	return text
}

// readNumber reads a plain integer from 1 on, of at most 15 digits: one that every
// language can hold.
func (s *scan) readNumber() uint64 {
	n := 0
	for n < len(s.b) && n <= 15 && '0' <= s.b[n] && s.b[n] <= '9' {
		n++
	}
	if s.ok = s.ok && n > 0 && n <= 15 && s.b[0] != '0'; !s.ok {
		return 0
	}
	v, _ := strconv.ParseUint(s.takeBytes(n), 10, 64) // so few digits always fit
	return v
}

func (s *scan) readHex() string {
	text := s.takeBytes(hashLen)
	for i := range len(text) {
		s.ok = s.ok && hexDigit[text[i]]
	}
	return text
}

// hexDigit holds for the digits that hashes are written with.
var hexDigit = func() (all [256]bool) {
	for _, c := range "0123456789abcdef" {
		all[c] = true
	}
	return all
}()
