package pin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
	"mcphub/internal/redact"
)

// version is the version of the format of hub.lock.
const version = 1

// A Lock is the content of a hub.lock.
type Lock struct {
	Version int                `json:"version"`
	Servers map[string]*Server `json:"servers"` // by their names in hub.json
}

// A Server is what one server defines. Its definitions are canonical JSON (RFC 8785), by the names or URIs that the server gives.
type Server struct {
	Package      string      `json:"package,omitempty"` // NAME@VERSION of what runs; "" if the hub keeps no copy of it
	Digest       string      `json:"digest,omitempty"`  // of the files that it runs from, as their package manager lists them; "" if it is not known
	Instructions string      `json:"instructions,omitempty"`
	Tools        Definitions `json:"tools"`
	Prompts      Definitions `json:"prompts,omitempty"`
	Resources    Definitions `json:"resources,omitempty"`
	Templates    Definitions `json:"templates,omitempty"`
	// Varies has what is another with other roots, and is not compared: texts of tools, by "tools/NAME", and the instructions, by
	// variesInstructions. Arguments and hints never vary: a server would exempt itself.
	Varies map[string][]string `json:"varies,omitempty"`

	whole map[Thing]jsontext.Value // what the server gave, with what a Lock leaves out; nil of a Lock that was read
	mask  mask                     // that made the rest of whole
}

// A Thing is what one definition is of.
type Thing struct {
	Of   string // tool, prompt, resource, resource template or instructions
	Name string // as the server calls it; "" of instructions
}

// Instructions is the Thing of what a server says about itself.
var Instructions = Thing{Of: "instructions"}

// ThingOf returns the Thing of an entry in a list.
func ThingOf(kind offers.ListKind, name string) Thing { return Thing{nouns[kind], name} }

var nouns = [offers.Kinds]string{offers.Tools: "tool", offers.Prompts: "prompt", offers.Resources: "resource", offers.Templates: "resource template"}

// String returns the Thing for people.
func (t Thing) String() string {
	if t.Name == "" {
		return t.Of
	}
	return t.Of + " " + printable.Quote(t.Name)
}

// Definitions are whole definitions by what they are known by.
type Definitions map[string]jsontext.Value

// Parse reads a hub.lock.
func Parse(text []byte) (*Lock, error) {
	l := &Lock{}
	if err := json.Unmarshal(text, l); err != nil {
		return nil, err
	}
	if l.Version != version {
		return nil, fmt.Errorf("it has version %d of the format, and this program reads version %d; write it again with mcphub lock", l.Version, version)
	}
	for name, s := range l.Servers {
		if s == nil {
			return nil, fmt.Errorf("the server %q has no definitions; write it again with mcphub lock", name)
		}
		for _, all := range s.all() {
			for key, def := range *all.definitions {
				canonical, err := canonicalize(def)
				if err != nil {
					return nil, fmt.Errorf("the %s of the server %q: %w", ThingOf(all.kind, key), name, err)
				}
				(*all.definitions)[key] = canonical
			}
		}
	}
	return l, nil
}

// Format returns the text of a hub.lock: the same for the same content.
func (l *Lock) Format() ([]byte, error) {
	l.Version = version
	text, err := json.MarshalIndent(l, "", "  ") // members of structs stand in their order, and keys of maps are sorted
	return append(text, '\n'), err
}

// A listOf is one of the lists of a server.
type listOf struct {
	kind        offers.ListKind
	definitions *Definitions
}

func (s *Server) all() []listOf {
	return []listOf{{offers.Tools, &s.Tools}, {offers.Prompts, &s.Prompts}, {offers.Resources, &s.Resources}, {offers.Templates, &s.Templates}}
}

// Of returns what an offer defines. The path of the home folder stands as "~" in it, and what looks like a secret is left
// out; home is "" if it is not known. odd names what cannot be compared: it, or a member of its definition, stands twice.
func Of(offer *offers.RawOffer, home string) (s *Server, odd []Thing) {
	m := mask{home}
	s = &Server{Instructions: m.text(offer.Instructions), Tools: Definitions{}, whole: map[Thing]jsontext.Value{}, mask: m}
	s.whole[Instructions] = jsonrpc.AppendString(nil, offer.Instructions)
	for _, list := range s.all() {
		for _, raw := range offer.Entries[list.kind] {
			key, ok := jsonrpc.GetString(raw, list.kind.List().Key)
			if !ok {
				continue // it is offered to no client
			}
			thing := ThingOf(list.kind, key)
			whole, err := canonicalize(raw)
			if err != nil {
				odd = append(odd, thing)
				continue
			}
			if was, twice := s.whole[thing]; twice {
				if list.kind == offers.Tools || !bytes.Equal(was, whole) {
					odd = append(odd, thing) // which of them is offered depends on more than the name
				}
				continue
			}
			def, err := m.definition(whole)
			if err != nil {
				odd = append(odd, thing)
				continue
			}
			if *list.definitions == nil {
				*list.definitions = Definitions{}
			}
			(*list.definitions)[key], s.whole[thing] = def, whole
		}
	}
	return s, odd
}

var errNoObject = errors.New("it is no JSON object")

// canonicalize returns a definition in the one form that it has by RFC 8785.
func canonicalize(raw []byte) (jsontext.Value, error) {
	def := jsontext.Value(slices.Clone(raw))
	if err := def.Canonicalize(); err != nil {
		return nil, err
	}
	if def.Kind() != '{' {
		return nil, errNoObject
	}
	return def, nil
}

// A mask replaces in texts what no lock holds: the path of the home folder, and what looks like a secret.
type mask struct{ home string }

func (m mask) text(text string) string {
	if len(m.home) > 1 { // "/" is in every path
		text = strings.ReplaceAll(text, m.home, "~")
	}
	return redact.Text(text)
}

// definition returns a canonical definition with its strings masked. Names of members stay.
func (m mask) definition(raw []byte) (jsontext.Value, error) {
	def, err := canonicalize(raw)
	if err != nil {
		return nil, err
	}
	var value any
	if err := json.Unmarshal(def, &value); err != nil {
		return nil, err
	}
	masked, err := json.Marshal(m.value(value))
	if err != nil {
		return nil, err
	}
	return canonicalize(masked)
}

func (m mask) value(value any) any {
	switch v := value.(type) {
	case string:
		return m.text(v)
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = m.value(v[name])
		}
	}
	return value
}

// NoteVarying puts the members of tools on record that differ between two starts with other roots. s is the first start.
func (s *Server) NoteVarying(other *Server) {
	for name, def := range s.Tools {
		was, now := membersOf(def), membersOf(other.Tools[name])
		if now == nil {
			continue // what is not there with other roots does not read differently
		}
		var varying []string
		for _, member := range mayVary {
			if !bytes.Equal(was[member], now[member]) {
				varying = append(varying, member)
			}
		}
		if len(varying) == 0 {
			continue
		}
		s.noteVaries(variesTools+name, varying)
		s.Tools[name] = withCommonText(def, was, now, varying)
	}
	if s.Instructions != other.Instructions {
		s.noteVaries(variesInstructions, []string{variesInstructions})
		s.Instructions = ""
	}
}

// withCommonText returns a definition in which members that vary have the sentences that both starts gave.
func withCommonText(def jsontext.Value, was, now map[string]jsontext.Value, varying []string) jsontext.Value {
	for _, member := range varying {
		other := sentencesOf(stringOf(now[member]))
		var common []string
		for _, sentence := range sentencesOf(stringOf(was[member])) {
			if slices.Contains(other, sentence) {
				common = append(common, sentence)
			}
		}
		was[member] = jsonrpc.AppendString(nil, strings.Join(common, ".\n"))
	}
	text, err := json.Marshal(was)
	if err != nil {
		return without(def, varying)
	}
	common, err := canonicalize(text)
	if err != nil {
		return without(def, varying)
	}
	return common
}

// mayVary are the members of a tool that may be others with other roots.
var mayVary = []string{"description", "title"}

// Keys of Server.Varies.
const (
	variesTools        = "tools/"
	variesInstructions = "instructions"
)

func (s *Server) noteVaries(key string, members []string) {
	if s.Varies == nil {
		s.Varies = map[string][]string{}
	}
	s.Varies[key] = members
}

// membersOf returns the members of an object; nil if it is none.
func membersOf(def []byte) (members map[string]jsontext.Value) {
	if json.Unmarshal(def, &members) != nil {
		return nil
	}
	return members
}

// without returns a definition without some of its members.
func without(def jsontext.Value, members []string) jsontext.Value {
	all := membersOf(def)
	for _, member := range members {
		delete(all, member)
	}
	left, err := json.Marshal(all)
	if err != nil {
		return def // of values that were parsed
	}
	if canonical, err := canonicalize(left); err == nil {
		return canonical
	}
	return def
}
