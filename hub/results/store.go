package results

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

const (
	maxKept      = 64        // results of one session
	maxBytes     = 64 << 20  // of them
	maxBytesAll  = 256 << 20 // of all sessions
	maxForgotten = 1024      // ids of one session of which it is known that they were given
)

// Lifetime is how long a result is kept that belongs to no session of one client.
const Lifetime = 30 * time.Minute

// A Shelf bounds what the Stores of one hub hold together. The zero value is ready.
type Shelf struct {
	mu     sync.Mutex
	size   int
	stores map[*Store]struct{} // that hold something
}

// A Store keeps the results of one session.
type Store struct {
	shelf *Shelf
	owner string        // the principal; "": the session alone
	life  time.Duration // of each result; 0: as long as the session

	// The mutex of the shelf guards these.
	kept      []*fullText // oldest first
	size      int
	forgotten []string // ids, oldest first
	closed    bool
}

// A fullText is something that was cut. It is not changed.
type fullText struct {
	id    string
	text  string
	pages []int     // where each begins
	until time.Time // zero: the end of the session
	of    *Origin   // nil: nothing withholds it
}

// An Origin is the call that a result answers.
type Origin struct {
	Size int // bytes that are kept of it as long as the result
	// Withheld reports why the result may not be read, "" if it may: the rules may have come to deny the call. gone: it never may again.
	Withheld func(ctx context.Context) (why string, gone bool)
}

// keptSize returns how many bytes are kept for it.
func (w *fullText) keptSize() int {
	if w.of == nil {
		return len(w.text)
	}
	return len(w.text) + w.of.Size
}

// NewStore makes a Store of a session of a principal. Where life is not 0, nothing is kept for longer.
func NewStore(shelf *Shelf, owner string, life time.Duration) *Store {
	return &Store{shelf: shelf, owner: owner, life: life}
}

// Close lets go of everything. Nothing is kept any more.
func (s *Store) Close() {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	s.closed = true
	for len(s.kept) > 0 {
		s.dropOldest()
	}
	s.forgotten = nil
}

// keepTexts keeps some texts, all or none, and lets older ones go for them. size is the size of a
// page, in bytes.
func (s *Store) keepTexts(size int, of *Origin, texts ...string) ([]*fullText, bool) {
	sum := 0
	made := make([]*fullText, len(texts))
	for i, text := range texts {
		made[i] = &fullText{id: rand.Text(), text: text, pages: pageStarts(text, size), of: of}
		sum += made[i].keptSize()
		if s.life > 0 {
			made[i].until = time.Now().Add(s.life)
		}
	}
	if sum > maxBytes {
		return nil, false
	}
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if s.closed {
		return nil, false
	}
	s.expireOld()
	for len(s.kept)+len(made) > maxKept || s.size+sum > maxBytes {
		s.dropOldest()
	}
	for s.shelf.size+sum > maxBytesAll {
		s.shelf.largestStore().dropOldest()
	}
	s.kept = append(s.kept, made...)
	s.size += sum
	s.shelf.size += sum
	if s.shelf.stores == nil {
		s.shelf.stores = map[*Store]struct{}{}
	}
	s.shelf.stores[s] = struct{}{}
	return made, true
}

// largestStore returns the Store that holds most of the principal who holds most, so that no one takes the
// room of those who need little, however many sessions they have.
func (h *Shelf) largestStore() (most *Store) {
	held := map[string]int{}
	for s := range h.stores {
		held[s.owner] += s.size
	}
	of := func(s *Store) int {
		if s.owner == "" {
			return s.size
		}
		return held[s.owner]
	}
	for s := range h.stores {
		if most == nil || of(s) > of(most) || of(s) == of(most) && s.size > most.size {
			most = s
		}
	}
	return most
}

// dropOldest lets one result go. The mutex is held.
func (s *Store) dropOldest() { s.dropResult(0) }

// dropResult lets the result at an index go. The mutex is held.
func (s *Store) dropResult(i int) {
	w := s.kept[i]
	if s.kept = slices.Delete(s.kept, i, i+1); len(s.kept) == 0 {
		s.kept = nil
		delete(s.shelf.stores, s)
	}
	s.size -= w.keptSize()
	s.shelf.size -= w.keptSize()
	if len(s.forgotten) == maxForgotten {
		s.forgotten = slices.Delete(s.forgotten, 0, 1)
	}
	s.forgotten = append(s.forgotten, w.id)
}

// expireOld lets go of what is kept no longer. The mutex is held.
func (s *Store) expireOld() {
	for len(s.kept) > 0 && !s.kept[0].until.IsZero() && !time.Now().Before(s.kept[0].until) {
		s.dropOldest()
	}
}

// findText finds what an id stands for. was: it stood for something that is kept no longer.
func (s *Store) findText(id string) (w *fullText, was bool) {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	s.expireOld()
	for _, w := range s.kept {
		if w.id == id {
			return w, false
		}
	}
	return nil, slices.Contains(s.forgotten, id)
}

// dropText drops a result. The other part of the same answer is dropped when someone reads it.
func (s *Store) dropText(w *fullText) {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	if i := slices.Index(s.kept, w); i >= 0 {
		s.dropResult(i)
	}
}

// uriPrefix begins the URI of each result: mcphub://results/ID, and with ?page=N a page's.
const uriPrefix = "mcphub://results/"

func (w *fullText) textURI() string { return uriPrefix + w.id }

// pageURI returns the URI of one page; the first is 1.
func (w *fullText) pageURI(n int) string { return w.textURI() + pageQuery + strconv.Itoa(n) }

const pageQuery = "?page="

// IsResult reports whether a URI can only stand for a result. Then it goes to no server, no matter who lists it.
func IsResult(uri string) bool {
	_, _, ok := parseURI(uri)
	return ok
}

// parseURI reads the URI of a result. page is 0 if it names one that cannot be.
func parseURI(uri string) (id string, page int, ok bool) {
	rest, ok := strings.CutPrefix(uri, uriPrefix)
	if !ok {
		return "", 0, false
	}
	id, _, query := strings.Cut(rest, "?")
	if len(id) != idLength || strings.Trim(id, idAlphabet) != "" {
		return "", 0, false
	}
	if !query {
		return id, 1, true
	}
	number, _ := strings.CutPrefix(rest[len(id):], pageQuery)
	if page, err := strconv.Atoi(number); err == nil && page > 0 {
		return id, page, true
	}
	return id, 0, true
}

// Of [rand.Text].
const (
	idLength   = 26
	idAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// Read answers resources/read of a URI that is [IsResult]. What is withheld is let go: it cannot be read again when the rules change
// back.
func (s *Store) Read(ctx context.Context, uri string) jsonrpc.Answer {
	id, n, _ := parseURI(uri)
	w, was := s.findText(id)
	switch {
	case was:
		return notFound("the result " + uriPrefix + id + " is kept no longer: newer ones have taken its room, or its time was over. Call the tool again.")
	case w == nil:
		return notFound("there is no result " + printable.Quote(uri) + " in this session. Results are kept for the session whose call they answered, until it ends.")
	case n < 1 || n > len(w.pages):
		return jsonrpc.RefuseParams(fmt.Sprintf("the result has pages 1 to %d: %s to %s", len(w.pages), w.pageURI(1), w.pageURI(len(w.pages))))
	}
	if w.of != nil {
		switch why, gone := w.of.Withheld(ctx); {
		case gone:
			s.dropText(w)
			return notFound("the result " + uriPrefix + id + " is kept no longer: " + why)
		case why != "":
			return notFound("the result " + uriPrefix + id + " cannot be read now: " + why)
		}
	}
	end := len(w.text)
	if n < len(w.pages) {
		end = w.pages[n]
	}
	b := jsonrpc.AppendString([]byte(`{"contents":[{"uri":`), uri)
	b = jsonrpc.AppendString(append(b, `,"mimeType":"text/plain","text":`...), w.text[w.pages[n-1]:end])
	b = fmt.Appendf(b, `,"_meta":{"mcphub/page":%d,"mcphub/pages":%d`, n, len(w.pages))
	if n < len(w.pages) {
		b = jsonrpc.AppendString(append(b, `,"mcphub/next":`...), w.pageURI(n+1))
	}
	return jsonrpc.ResultAnswer(append(b, `}}]}`...))
}

func notFound(text string) jsonrpc.Answer { return jsonrpc.ErrorAnswer(mcp.RESOURCE_NOT_FOUND, text) }
