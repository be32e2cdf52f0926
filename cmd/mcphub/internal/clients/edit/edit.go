package edit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Format is what a file is written in.
type Format string

// The formats.
const (
	JSON Format = "json" // comments and trailing commas allowed
	TOML Format = "toml"
	YAML Format = "yaml"
)

var bom = []byte("\xef\xbb\xbf")

// A Container is the part of a file that holds its entries.
type Container struct {
	Path []string `json:"path"`           // names of the tables from the top
	List bool     `json:"list,omitempty"` // entries are a list, and each has its name under "name"
}

// nameKey holds the name of an entry that stands in a list.
const nameKey = "name"

// A Splice replaces Old by New at an offset.
type Splice struct {
	Off    int    `json:"-"`
	Old    string `json:"old,omitempty"`
	New    string `json:"new,omitempty"`
	Before string `json:"before,omitempty"` // what stood around it afterwards
	After  string `json:"after,omitempty"`
}

// Kind is what an edit does.
type Kind string

// The kinds of edits.
const (
	Put    Kind = "put"    // an entry is there, with this value
	Remove Kind = "remove" // an entry is not there
	Set    Kind = "set"    // a member of an entry has this value
)

// A Change is one edit that was made, with what it takes to undo it.
type Change struct {
	Kind    Kind     `json:"kind"`
	Name    string   `json:"name"`
	Key     string   `json:"key,omitempty"`     // Set: the member
	Value   any      `json:"-"`                 // Put: a Table; Set: the value
	Was     Table    `json:"was,omitempty"`     // Put, Remove: the entry that was there
	Had     bool     `json:"had,omitempty"`     // Set: the member was there ...
	HadTrue bool     `json:"hadTrue,omitempty"` // ... and this was its value, which is a bool always
	Made    int      `json:"made,omitempty"`    // how many tables of the path were not there before
	Splices []Splice `json:"splices"`
}

// ErrNoEntry means that the entry to be changed is not in the file.
var ErrNoEntry = errors.New("there is no such entry")

// Entries lists the entries of a file in their order. One that is no table is left out.
func Entries(whole Table, at Container) Table {
	var v any = whole
	for _, name := range at.Path {
		t, ok := v.(Table)
		if !ok {
			return nil
		}
		v = t.Get(name)
	}
	var out Table
	switch v := v.(type) {
	case Table:
		if at.List {
			return nil
		}
		for _, m := range v {
			if _, ok := m.Value.(Table); ok {
				out = append(out, m)
			}
		}
	case []any:
		if !at.List {
			return nil
		}
		for _, e := range v {
			if t, ok := e.(Table); ok {
				out = append(out, Member{nameOf(t), t.Without(nameKey)})
			}
		}
	}
	return out
}

// Apply edits a text. The change that it returns undoes the edit.
func Apply(format Format, data []byte, at Container, c Change) ([]byte, Change, error) {
	whole, err := Decode(format, data)
	if err != nil {
		return nil, c, err
	}
	if name := findTwice(whole, at, c.Name); name != "" {
		return nil, c, fmt.Errorf("%q stands twice in the file; remove one of them", name)
	}
	entries := Entries(whole, at)
	have, there := entries.Get(c.Name).(Table)
	switch c.Kind {
	case Put:
		c.Was = nil
		if there {
			c.Was = have
		}
	case Remove:
		if !there {
			return nil, c, ErrNoEntry
		}
		c.Was = have
	case Set:
		if !there {
			return nil, c, ErrNoEntry
		}
		c.Had = have.Has(c.Key)
		was, isBool := have.Get(c.Key).(bool)
		if c.HadTrue = was; c.Had && !isBool {
			return nil, c, fmt.Errorf("%q of %q is neither true nor false", c.Key, c.Name)
		}
	}
	body := bytes.TrimPrefix(data, bom)
	head := len(data) - len(body)
	var splices []Splice
	switch format {
	case TOML:
		splices, err = tomlEdit(body, at, c, there)
	case YAML:
		splices, err = yamlEdit(body, at, c)
	default:
		splices, err = jsonEdit(body, at, c)
	}
	if err != nil {
		return nil, c, err
	}
	for i := range splices {
		splices[i].Off += head
	}
	out := applySplices(data, splices)
	c.Made = countMissing(whole, at)
	if err := verifyResult(format, whole, out, at, c); err != nil {
		return nil, c, err
	}
	c.Splices = noteSurroundings(data, splices)
	return out, c, nil
}

// countMissing counts the tables of the path that are not there.
func countMissing(whole Table, at Container) int {
	var v any = whole
	for i, name := range at.Path {
		t, _ := v.(Table)
		v = t.Get(name)
		if v == nil {
			return len(at.Path) - i
		}
	}
	return 0
}

// verifyResult reads the result and compares it with the original in which the same
// was done to the values.
func verifyResult(format Format, before Table, after []byte, at Container, c Change) error {
	got, err := Decode(format, after)
	if err != nil {
		return fmt.Errorf("the edit would break the file: %w", err)
	}
	want, err := applyToValues(before, at, c)
	if err != nil {
		return err
	}
	if !sameFiles(got, want, at) {
		return fmt.Errorf("the file is written in a way in which %q cannot be changed alone; change it by hand", c.Name)
	}
	return nil
}

// sameFiles compares two files. Where the entries are kept, an empty table is as good
// as none, and the order of a list does not matter.
func sameFiles(a, b Table, at Container) bool { return Equal(Prune(a, at.Path), Prune(b, at.Path)) }

// Prune leaves out the tables of a path that hold nothing, and sorts a list at its end.
func Prune(t Table, path []string) Table {
	switch in := t.Get(path[0]).(type) {
	case nil:
		return t.Without(path[0])
	case Table:
		if len(path) > 1 {
			in = Prune(in, path[1:])
		}
		if len(in) == 0 {
			return t.Without(path[0])
		}
		return t.With(path[0], in)
	case []any:
		if len(in) == 0 {
			return t.Without(path[0])
		}
		in = slices.Clone(in)
		slices.SortStableFunc(in, func(a, b any) int { return strings.Compare(nameOf(a), nameOf(b)) })
		return t.With(path[0], in)
	}
	return t
}

// nameless begins what an entry of a list is called that has no name: the rest is
// made of what it holds.
const nameless = "#"

func nameOf(v any) string {
	t, _ := v.(Table)
	name, _ := t.Get(nameKey).(string)
	if name == "" && t != nil {
		text, _ := json.Marshal(toMaps(t)) // a map's members are sorted
		sum := sha256.Sum256(text)
		return nameless + hex.EncodeToString(sum[:6])
	}
	return name
}

// findTwice finds a name that stands twice on the way to an entry, or among the
// members of it. Programs differ in which of them counts.
func findTwice(whole Table, at Container, name string) string {
	var v any = whole
	for _, step := range append(slices.Clone(at.Path), name) {
		t, ok := v.(Table)
		if list, _ := v.([]any); at.List && len(list) > 0 {
			for _, e := range list {
				t = append(t, Member{nameOf(e), e})
			}
			ok = true
		}
		if !ok {
			return ""
		}
		n := 0
		for _, m := range t {
			if m.Name == step {
				n++
			}
		}
		if n > 1 {
			return step
		}
		v = t.Get(step)
	}
	return ""
}

// placeOf returns the place of an entry, or the place for a new one.
func (at Container) placeOf(whole Table, name string) ValuePath {
	var place ValuePath
	var v any = whole
	for _, step := range at.Path {
		t, _ := v.(Table)
		place, v = append(place, step), t.Get(step)
	}
	if !at.List {
		return append(place, name)
	}
	list, _ := v.([]any)
	if i := slices.IndexFunc(list, func(e any) bool { return nameOf(e) == name }); i >= 0 {
		return append(place, i)
	}
	return append(place, len(list))
}

// applyToValues returns an edit of values instead of texts.
func applyToValues(whole Table, at Container, c Change) (Table, error) {
	change := func(old Table) Table {
		switch {
		case c.Kind == Put:
			t, _ := c.Value.(Table)
			return t
		case c.Value == nil:
			return old.Without(c.Key)
		}
		return old.With(c.Key, c.Value)
	}
	out, err := changedAt(whole, at.placeOf(whole, c.Name), func(in, step any) (any, error) {
		list, isList := in.([]any)
		t, isTable := in.(Table)
		i, element := step.(int)
		switch {
		case in != nil && (element && !isList || !element && !isTable):
			return nil, errPlace
		case !element && c.Kind == Remove:
			return append(Table{}, t.Without(c.Name)...), nil
		case !element:
			old, _ := t.Get(c.Name).(Table)
			return t.With(c.Name, change(old)), nil
		case i == len(list):
			return append(slices.Clone(list), namedEntry(c.Name, change(nil))), nil
		case c.Kind == Remove:
			return slices.Delete(slices.Clone(list), i, i+1), nil
		}
		old, _ := list[i].(Table)
		list = slices.Clone(list)
		list[i] = namedEntry(c.Name, change(old.Without(nameKey)))
		return list, nil
	})
	t, _ := out.(Table)
	return t, err
}

// namedEntry returns an entry of a list.
func namedEntry(name string, t Table) Table {
	if strings.HasPrefix(name, nameless) {
		return t
	}
	return append(Table{{nameKey, name}}, t.Without(nameKey)...)
}

// applySplices applies replacements, whose offsets are the offsets of data.
func applySplices(data []byte, all []Splice) []byte {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Splice) int { return a.Off - b.Off })
	var out bytes.Buffer
	at := 0
	for _, s := range all {
		out.Write(data[at:s.Off])
		out.WriteString(s.New)
		at = s.Off + len(s.Old)
	}
	out.Write(data[at:])
	return out.Bytes()
}

// context is how much of the text around a splice is remembered.
const context = 64

// noteSurroundings remembers what stands around each splice once all are made.
func noteSurroundings(data []byte, all []Splice) []Splice {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Splice) int { return a.Off - b.Off })
	out := applySplices(data, all)
	shift := 0
	for i := range all {
		s := &all[i]
		s.Off += shift
		shift += len(s.New) - len(s.Old)
		end := s.Off + len(s.New)
		s.Before = string(out[max(0, s.Off-context):s.Off])
		s.After = string(out[end:min(len(out), end+context)])
	}
	return all
}

// Undo takes a change back in a text that may have been edited since. If no
// part of the change is left it returns the text as it is.
func Undo(format Format, data []byte, at Container, c Change) ([]byte, error) {
	whole, err := Decode(format, data)
	if err != nil {
		return nil, err
	}
	back, needed, err := invertChange(Entries(whole, at), c)
	if err != nil || !needed {
		return data, err
	}
	want, err := undoInValues(whole, at, c, back)
	if err != nil {
		return nil, err
	}
	if out, ok := undoSplices(data, c.Splices); ok {
		if got, err := Decode(format, out); err == nil && sameFiles(got, want, at) {
			return out, nil
		}
	}
	out, _, err := Apply(format, data, at, back)
	if err != nil {
		return nil, err
	}
	if c.Made > 0 && format == JSON {
		out = dropEmpty(out, at, c.Made)
	}
	return out, nil
}

// invertChange returns the edit that means the opposite of a change, and whether
// there is anything left to take back.
func invertChange(entries Table, c Change) (back Change, needed bool, err error) {
	have, there := entries.Get(c.Name).(Table)
	switch c.Kind {
	case Put:
		switch {
		case !there:
			return back, false, nil
		case c.Was != nil:
			return Change{Kind: Put, Name: c.Name, Value: c.Was}, !Equal(have, c.Was), nil
		}
		return Change{Kind: Remove, Name: c.Name}, true, nil
	case Remove:
		if there { // put back by someone, or by the client
			return back, false, nil
		}
		return Change{Kind: Put, Name: c.Name, Value: c.Was}, true, nil
	case Set:
		back = Change{Kind: Set, Name: c.Name, Key: c.Key}
		if c.Had {
			back.Value = c.HadTrue
		}
		now, set := have.Get(c.Key).(bool)
		return back, there && set && (!c.Had || now != c.HadTrue), nil
	}
	return back, false, fmt.Errorf("the record has an unknown kind of change, %q", c.Kind)
}

// undoInValues returns what the values are once a change was taken back.
func undoInValues(whole Table, at Container, c, back Change) (Table, error) {
	want, err := applyToValues(whole, at, back)
	if err != nil || c.Made == 0 {
		return want, err
	}
	return withoutEmpty(want, at.Path, c.Made), nil
}

// withoutEmpty removes the innermost n tables of a path as far as they are empty.
func withoutEmpty(t Table, path []string, n int) Table {
	if len(path) == 0 {
		return t
	}
	in, _ := t.Get(path[0]).(Table)
	if len(path) > 1 {
		in = withoutEmpty(in, path[1:], n)
	}
	list, _ := t.Get(path[0]).([]any)
	if len(path) <= n && len(in) == 0 && len(list) == 0 {
		return t.Without(path[0])
	}
	if len(path) > 1 {
		return t.With(path[0], in)
	}
	return t
}

// undoSplices finds what was put in by what stands around it, each exactly once.
func undoSplices(data []byte, all []Splice) ([]byte, bool) {
	var back []Splice
	from := 0
	for _, s := range all {
		off, ok := locateSplice(data, s)
		if !ok || off < from {
			return nil, false
		}
		from = off + len(s.New)
		back = append(back, Splice{Off: off, Old: s.New, New: s.Old})
	}
	return applySplices(data, back), true
}

// surroundings are how much of what stood before and after is looked for, the
// most telling first.
var surroundings = [][2]int{{64, 64}, {32, 32}, {16, 16}, {8, 8}, {4, 4}, {32, 0}, {0, 32}, {12, 0}, {0, 12}, {0, 0}}

// tellingAlone is how long a text is that needs no surroundings to be found.
const tellingAlone = 16

// locateSplice finds the one place where a splice was made.
func locateSplice(data []byte, s Splice) (int, bool) {
	for _, size := range surroundings {
		before, after := s.Before, s.After
		before = before[max(0, len(before)-size[0]):]
		after = after[:min(len(after), size[1])]
		if size[0]+size[1] == 0 && len(s.New) < tellingAlone {
			continue
		}
		needle := []byte(before + s.New + after)
		if len(needle) > 0 && bytes.Count(data, needle) == 1 {
			return bytes.Index(data, needle) + len(before), true
		}
	}
	return 0, false
}

// lineEndOf returns the line end of a text: the end of its first line.
func lineEndOf(data []byte) string {
	if i := bytes.IndexByte(data, '\n'); i > 0 && data[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// lineStart returns the offset of the first byte of the line that off lies in.
func lineStart(data []byte, off int) int { return bytes.LastIndexByte(data[:off], '\n') + 1 }

// lineEnd returns the offset of what ends the line that off lies in: the
// line end itself, or the end of the text.
func lineEnd(data []byte, off int) int {
	end := len(data)
	if i := bytes.IndexByte(data[off:], '\n'); i >= 0 {
		end = off + i
		if end > off && data[end-1] == '\r' {
			end--
		}
	}
	return end
}

// indentAt returns the blank text that the line of an offset begins with.
func indentAt(data []byte, off int) string {
	line := data[lineStart(data, off):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

func quoteText(s string) string {
	b, _ := json.Marshal(s) // a string always can be
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(b))
}
