package declare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"mcphub/internal/commandline"
	"mcphub/internal/memo"
	"mcphub/internal/wellknown"
	"mcphub/validate/access"
)

// Profile is what the arguments of a well-known server are: which are paths, in which role, and how it needs them spelled. An operator's own
// entry wins over it, argument by argument. What "rewrite" says holds for the server as a whole, also for arguments that an operator declared
// or that their names give away: it is about how the server reads a path, not about which arguments are paths.
type Profile struct {
	*wellknown.Server
	Tools   map[string]map[string]ArgRule // tool or "*" -> pointer -> rule
	knows   []string                      // patterns of the tools that the server has
	Mode    *Mode
	First   bool // a relative path starts in the first directory served, and in no other unless it climbs
	Rewrite bool
}

// relativeFirst is "relative" of a profile: the server takes a relative path from the first directory that it is served.
const relativeFirst = "first-root"

// profiles are parsed when a server is there that they are about.
var profiles memo.Map[*wellknown.Server, *Profile]

// profileOf returns what a server's arguments are, nil where nothing is known of them.
func profileOf(s *wellknown.Server) *Profile {
	if s == nil || s.Arguments == nil {
		return nil
	}
	return profiles.Get(s, func() *Profile {
		p, err := parseProfile(s)
		if err != nil {
			panic("validate: the profile " + s.Name + " is broken: " + err.Error()) // a test parses them all
		}
		return p
	})
}

func parseProfile(s *wellknown.Server) (*Profile, error) {
	var file struct {
		Mode     string
		Tools    map[string]map[string]json.RawMessage
		Rewrite  bool
		Knows    string
		Relative string
	}
	dec := json.NewDecoder(bytes.NewReader(s.Arguments))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	p := &Profile{Server: s, knows: strings.Fields(file.Knows), First: file.Relative == relativeFirst, Rewrite: file.Rewrite}
	if file.Mode != "" {
		m, err := ParseMode(file.Mode)
		if err != nil {
			return nil, err
		}
		p.Mode = &m
	}
	if file.Relative != "" && !p.First {
		return nil, fmt.Errorf("relative: %q is none of %q", file.Relative, relativeFirst)
	}
	p.Tools = make(map[string]map[string]ArgRule)
	check := &Rules{}
	for tools, args := range file.Tools {
		rules := make(map[string]ArgRule)
		for pointer, raw := range args {
			r, err := parseRule(raw)
			if err == nil {
				err = check.addRule(pointer, &Rule{ArgRule: r})
			}
			if err != nil {
				return nil, fmt.Errorf("tool %s, argument %s: %w", tools, pointer, err)
			}
			rules[pointer] = r
		}
		for tool := range strings.FieldsSeq(tools) { // "a b c" declares several tools alike
			if p.Tools[tool] == nil {
				p.Tools[tool] = make(map[string]ArgRule)
			}
			maps.Copy(p.Tools[tool], rules)
		}
	}
	return p, nil
}

// typed is what a profile says about text for a running program.
const typed = "typed"

// parseRule reads "write", "typed" or {"role": "write", "base": "/repo_path"}.
func parseRule(raw []byte) (ArgRule, error) {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		if word == typed {
			return ArgRule{Typed: true}, nil
		}
		role, err := access.Parse(word)
		return ArgRule{Role: role}, err
	}
	var long struct{ Role, Base string }
	if err := json.Unmarshal(raw, &long); err != nil {
		return ArgRule{}, err
	}
	role, err := access.Parse(long.Role)
	return ArgRule{Role: role, Base: long.Base}, err
}

// hasTool reports a tool that the server is known to have.
func (p *Profile) hasTool(tool string) bool {
	if p.Tools[tool] != nil {
		return true
	}
	return slices.ContainsFunc(p.knows, func(pattern string) bool {
		ok, _ := path.Match(pattern, tool) // a pattern that cannot be read matches nothing
		return ok
	})
}

// ByServer returns the profile of a server by the name that it gives itself, nil where none is known.
func ByServer(name string) *Profile { return profileOf(wellknown.BySelf(name)) }

// ByCommand looks at the operator's own command line, which outweighs what a server calls itself.
// A guess exempts no argument.
func ByCommand(command string, args []string) *Profile {
	line := commandline.ReadLine(command, args)
	if line.Guess {
		return nil
	}
	return profileOf(wellknown.ByLine(line, func(s *wellknown.Server) bool { return s.Arguments != nil }))
}

// The words of Rewrite.Why: what a server needs whose profile says "rewrite". They are stable: audit lines and explain print them.
const (
	// RewriteFileURI: the server takes plain paths only. An argument that is a file URI with exactly one reading is
	// sent as that path, any other file URI is refused: such a server would open it as a relative name.
	RewriteFileURI = "file-uri"
	// RewriteResolvedRoot: the server compares paths as text with its roots, and has those resolved. A path that goes
	// through the spelling in which a root was given is sent with that prefix resolved, and nothing else changed.
	RewriteResolvedRoot = "resolved-root"
)
