package offers

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rs/zerolog"

	"mcphub/internal/jsonrpc"
)

// A Redefinition is a tool that a server has offered before and now defines
// otherwise: what a person looked at when the server was added may not be what
// runs now.
type Redefinition struct {
	Tool  string
	Parts []string // of the definition: title, description, inputSchema, outputSchema, annotations
}

// Definitions remember how the tools of each server were defined, beyond the
// hub's life. Unlike what is remembered to be listed it is found again when the
// program is another one: that is when a definition changes. It is known by the
// entry's name and what it starts or reaches, so an entry that is rewritten
// begins again.
type Definitions struct {
	files cache

	mu    sync.Mutex
	known map[string]*serverDefinitions // by definitionsKey
}

// serverDefinitions are the definitions of one entry.
type serverDefinitions struct {
	mu     sync.Mutex
	loaded bool
	last   *RawOffer         // compared last
	first  *RawOffer         // the first ever; Tools has none of it yet
	news   bool              // the file is not what is known
	Raw    string            `json:"raw"`   // the digest of all tools, byte for byte, that were compared last
	Tools  map[string][]form `json:"tools"` // the latest first
}

// definitionsFolder returns the folder of definitions, beside the folder for what is listed.
func definitionsFolder(cache string) string {
	return filepath.Join(filepath.Dir(cache), "definitions")
}

// A form is one way in which a tool was defined: a digest of each part it has.
type form map[string]string

// NewDefinitions returns the ones that are kept beside a folder for offers; "": in
// no file.
func NewDefinitions(folder string, log zerolog.Logger) *Definitions {
	files := cache{log: log, room: &room{}}
	if folder != "" {
		files.dir = definitionsFolder(folder)
	}
	return &Definitions{files: files, known: map[string]*serverDefinitions{}}
}

const (
	maxForms   = 8      // of one tool: a server may tell different clients different things
	maxDefined = 10_000 // tools of one server that are remembered
)

// definedParts are what a person or a model goes by.
var definedParts = []string{"title", "description", "inputSchema", "outputSchema", "annotations"}

// Compare returns the tools that an offer defines as they never were before. entry
// is the name of the server, and what it starts or reaches. Keep writes down what is new.
func (d *Definitions) Compare(entry []string, o *RawOffer) []Redefinition {
	key := definitionsKey(entry)
	e := d.definitionsOf(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.last != nil && slices.EqualFunc(e.last.Entries[Tools], o.Entries[Tools], bytes.Equal) {
		return nil // every start but the first
	}
	e.last = o
	if !e.loaded {
		d.loadEntry(key, e)
		e.loaded = true
	}
	raw := digestOf(o.Entries[Tools])
	if raw == e.Raw {
		return nil // the first start of this hub
	}
	e.Raw, e.news = raw, true
	if e.first == nil && len(e.Tools) == 0 { // what was never defined before has not changed
		e.first = o
		return nil
	}
	e.takeFirst()
	return e.compareOffer(o)
}

// takeFirst takes in the first offer ever. A start does not wait for that.
func (server *serverDefinitions) takeFirst() {
	if server.first != nil {
		server.compareOffer(server.first)
		server.first = nil
	}
}

// Keep puts what is new of an entry into its file. entry is as for Compare.
func (d *Definitions) Keep(entry []string) {
	key := definitionsKey(entry)
	e := d.definitionsOf(key)
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.news {
		e.news = false
		e.takeFirst()
		d.storeEntry(key, e)
	}
}

func (d *Definitions) definitionsOf(key string) *serverDefinitions {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[key]
	if e == nil {
		e = &serverDefinitions{}
		d.known[key] = e
	}
	return e
}

// digestOf returns a digest of texts, byte for byte.
func digestOf[T ~[]byte](texts []T) string {
	h := sha256.New()
	for _, text := range texts {
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(text))))
		h.Write(text)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// compareOffer takes in how an offer defines its tools.
func (server *serverDefinitions) compareOffer(o *RawOffer) (changed []Redefinition) {
	seen := map[string]bool{}
	for _, raw := range o.Entries[Tools] {
		name, ok := jsonrpc.GetString(raw, "name")
		if !ok || seen[name] { // of two with a name the first counts
			continue
		}
		seen[name] = true
		now, before := formOf(raw), server.Tools[name]
		at := slices.IndexFunc(before, func(f form) bool { return maps.Equal(f, now) })
		switch {
		case at == 0:
			continue
		case at > 0:
			before = slices.Delete(slices.Clone(before), at, at+1)
		case len(before) > 0:
			changed = append(changed, Redefinition{name, now.differingParts(before[0])})
		case len(server.Tools) >= maxDefined:
			continue
		}
		server.Tools[name] = append([]form{now}, before[:min(len(before), maxForms-1)]...)
	}
	return changed
}

// differingParts names the parts in which two forms are not alike.
func (f form) differingParts(from form) []string {
	var parts []string
	for _, p := range definedParts {
		if f[p] != from[p] {
			parts = append(parts, p)
		}
	}
	return parts
}

// loadEntry reads what is kept of an entry.
func (d *Definitions) loadEntry(key string, e *serverDefinitions) {
	e.Tools = map[string][]form{}
	if d.files.dir == "" {
		return
	}
	raw, err := d.files.readFile(d.files.offerFile(key))
	if err == nil {
		err = e.readFile(raw)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.files.log.Warn().Str("file", d.files.offerFile(key)).Err(err).Msg("how tools were defined before cannot be read: a change since then is not noticed")
	}
}

// readFile takes in a file, also one of version 0.1.0, which held the tools alone.
func (server *serverDefinitions) readFile(raw []byte) error {
	var kept serverDefinitions
	err := json.Unmarshal(raw, &kept) // which counts the depth before it recurses
	if err != nil || kept.Raw == "" {
		kept = serverDefinitions{}
		err = json.Unmarshal(raw, &kept.Tools)
	}
	if err == nil && kept.Tools != nil {
		server.Raw, server.Tools = kept.Raw, kept.Tools
	}
	return err
}

func (d *Definitions) storeEntry(key string, e *serverDefinitions) {
	if d.files.dir == "" {
		return
	}
	raw, err := json.Marshal(e)
	if err == nil {
		err = d.files.writeFile(d.files.offerFile(key), raw)
	}
	if err != nil {
		d.files.log.Warn().Str("file", d.files.offerFile(key)).Err(err).Msg("how tools are defined cannot be remembered")
	}
}

func definitionsKey(entry []string) string {
	raw, _ := json.Marshal(entry) // strings always can
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func formOf(definition []byte) form {
	f := form{}
	for _, part := range definedParts {
		if raw := jsonrpc.Get(definition, part); raw != nil {
			sum := senseDigest(raw)
			f[part] = hex.EncodeToString(sum[:16])
		}
	}
	return f
}

// senseDigest returns a digest of what a JSON value says: blanks, escapes and
// order, of members and of elements, make no difference. It takes no stack: what
// is open is held in a list.
func senseDigest(raw []byte) [sha256.Size]byte {
	type open struct {
		kind jsontext.Kind
		name string // of the member whose value comes
		in   [][sha256.Size]byte
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	levels := []*open{{}}
	for {
		t, err := in.ReadToken()
		if err != nil {
			if errors.Is(err, io.EOF) && len(levels) == 1 && len(levels[0].in) == 1 {
				return levels[0].in[0]
			}
			return sha256.Sum256(append([]byte("not JSON "), raw...))
		}
		kind, top := t.Kind(), levels[len(levels)-1]
		var sum [sha256.Size]byte
		switch kind {
		case '{', '[':
			levels = append(levels, &open{kind: kind})
			continue
		case '}', ']':
			slices.SortFunc(top.in, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
			h := sha256.New()
			h.Write([]byte{byte(top.kind)})
			for _, part := range top.in {
				h.Write(part[:])
			}
			sum = [sha256.Size]byte(h.Sum(nil))
			levels = levels[:len(levels)-1]
			top = levels[len(levels)-1]
		default:
			text := t.String()
			if _, members := in.StackIndex(in.StackDepth()); top.kind == '{' && members%2 == 1 {
				top.name = text
				continue
			}
			sum = sha256.Sum256(append([]byte{byte(kind)}, text...))
		}
		if top.kind == '{' {
			name := sha256.Sum256([]byte(top.name))
			sum = sha256.Sum256(append(append([]byte{':'}, name[:]...), sum[:]...))
		}
		top.in = append(top.in, sum)
	}
}

// KnownTools returns the names of the tools that a server has offered so far to hubs
// with this folder for offers, sorted; nil if nothing is known of it. entry is as
// for Compare.
func KnownTools(folder string, entry []string) []string {
	if folder == "" {
		return nil
	}
	d := Definitions{files: cache{dir: definitionsFolder(folder)}}
	var e serverDefinitions
	d.loadEntry(definitionsKey(entry), &e)
	return slices.Sorted(maps.Keys(e.Tools))
}
