package config

import (
	"fmt"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/internal/spelling"
)

// A Setting is one key of hub.json that was given outside of the file.
type Setting struct {
	From string   // what gave it, for messages: "MCPHUB_ROOTS__TIMEOUT", "--set roots.timeout"
	path []string // of the key, in the spelling of the table if it has it
	text string
	bad  string // why it cannot be used at all; "": it is read
}

// prefix begins the variables that give keys.
const prefix = "MCPHUB_"

// noKeys are variables of mcphub that are no keys of hub.json.
var noKeys = []string{"MCPHUB_CONFIG", "MCPHUB_REGISTRY", "MCPHUB_ROOTS", "MCPHUB_PROJECT_ROOT", "MCPHUB_TOKEN", "MCPHUB_GUARDIAN", "MCPHUB_INSTANCE", "MCPHUB_WORKDIR"}

// Environment returns the keys that variables give. environ is as os.Environ
// has it. MCPHUB_ROOTS__TIMEOUT is roots.timeout: the path in capitals, "__"
// between its parts. A variable that is empty counts as not set, as that is how many
// programs unset one. One that is no key and not close to one is not mcphub's to judge.
func Environment(environ []string) []Setting {
	var out []Setting
	for _, pair := range slices.Sorted(slices.Values(environ)) {
		name, text, _ := strings.Cut(pair, "=")
		rest, ours := strings.CutPrefix(name, prefix)
		if !ours || text == "" || slices.Contains(noKeys, name) {
			continue
		}
		path, known := keys.OfVariable(strings.Split(rest, "__"))
		if !known && spelling.Suggest(path[0], keys.Table.Names()) == "" {
			continue
		}
		s := Setting{From: name, path: path, text: text}
		if len(path) > 1 && path[0] == "mcpServers" {
			s.bad = "the servers are given as one object: " + prefix + "MCPSERVERS={...}"
		}
		out = append(out, s)
	}
	return out
}

// Flags returns the keys that --set gives: "roots.timeout=5s", or
// `mcpServers["my files"].disabled=true` if a name is not a plain word. An
// error reports which text is neither.
func Flags(given []string) ([]Setting, error) {
	var out []Setting
	for _, text := range given {
		path, value, ok := jsonc.ReadKey(text)
		if !ok {
			return nil, fmt.Errorf("--set %s: want KEY=VALUE, such as roots.timeout=5s", jsonc.Quote(text))
		}
		out = append(out, Setting{From: "--set " + jsonc.FormatKey(path), path: path, text: value})
	}
	return out, nil
}

// fileOnly are the keys that only the file may give: what they open must stand
// in a place that the operator reads.
var fileOnly = [][]string{{"policy"}, {"http", "tokens"}, {"http", "issuers"}}

// overlaySettings puts the settings over the tree of the file, the later ones on top.
// What an object does not name stays as it was below.
func (p *parser) overlaySettings(tree *jsonc.Node) *jsonc.Node {
	for _, s := range p.above {
		n, bad := s.readSetting(p.src)
		if bad == nil && s.bad != "" {
			bad = problemAt(p.src, n.Off, s.bad, "")
		}
		if bad == nil {
			for _, path := range fileOnly {
				if n.Has(path) {
					bad = problemAt(p.src, n.Off, jsonc.FormatKey(path)+" is read from hub.json only", "write it there")
				}
			}
		}
		if bad != nil {
			p.problems, p.fatal = append(p.problems, *bad), true
			continue
		}
		p.reportDuplicates(nil, n)
		tree = mergeNodes(tree, p.gatherEntries(n), keys.Table)
	}
	return tree
}

// readSetting reads a setting as a part of s. The text of a string needs no quotes. The node is the
// object that a file would have to be to say the same.
func (set Setting) readSetting(s *jsonc.Source) (*jsonc.Node, *Problem) {
	text := jsonc.NewSource(set.From, []byte(set.text))
	base := s.Add(text)
	at := keys.At(set.path)
	value, bad := text.Parse()
	plain := at == nil || at.Kind != keys.KindObject && at.Kind != keys.KindMap && at.Kind != keys.KindList || at.Short != ""
	if at != nil && (at.Kind == keys.KindString || at.Kind == keys.KindScalar) || bad != nil && plain && text.CheckEncoding() == nil {
		value, bad = jsonc.NewText(0, string(text.Data)), nil
	}
	if bad != nil {
		p := problemAt(text, bad.Off, bad.Text, bad.Hint)
		p.Key = jsonc.FormatKey(set.path)
		return nil, p
	}
	value.Shift(base)
	for i := len(set.path) - 1; i >= 0; i-- {
		value = jsonc.NewObject(base, jsonc.NewMember(set.path[i], base, value))
	}
	return value, nil
}

// mergeNodes is upper over lower, member by member where both are objects.
func mergeNodes(lower, upper *jsonc.Node, s *keys.Spec) *jsonc.Node {
	if upper.Kind != '{' || lower == nil {
		return upper
	}
	if lower.Kind != '{' {
		if s == nil || s.Kind != keys.KindObject || s.Short == "" {
			return upper
		}
		lower = jsonc.NewObject(lower.Off, jsonc.NewMember(s.Short, lower.Off, lower))
	}
	out := jsonc.NewObject(lower.Off, slices.Clone(lower.Members)...)
	for _, m := range upper.Members {
		var below *keys.Spec
		switch {
		case s != nil && s.Kind == keys.KindMap:
			below = s.Elem
		case s != nil && s.Kind == keys.KindObject && s.Find(m.Name) != nil:
			below = s.Find(m.Name).Spec
		}
		at := out.Index(m.Name)
		if at < 0 {
			out.Members = append(out.Members, m)
		} else {
			out.Members[at] = jsonc.NewMember(m.Name, m.Off, mergeNodes(out.Members[at].Value, m.Value, below))
		}
	}
	return out
}
