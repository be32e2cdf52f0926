package declare

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"mcphub/validate/access"
	"mcphub/validate/chars"
	"mcphub/validate/machine"
	"mcphub/validate/shell"
)

// Profile is what is known of a well-known server: which of its arguments are paths, in which role, and how it needs
// them spelled. Profiles are data, in profiles/*.json; an operator's own entry wins over them, argument by argument. What
// "rewrite" says holds for the server as a whole, also for arguments that an operator declared or that their names give
// away: it is about how the server reads a path, not about which arguments are paths.
type Profile struct {
	Name       string
	Match      Match
	Tools      map[string]map[string]ArgRule // tool or "*" -> pointer -> rule
	RootsProbe string                        // the tool that lists the roots applied, "" none
	knows      []string                      // patterns of the tools that the server has
	Mode       *Mode
	Stateless  bool // it keeps nothing of a session between calls, but for roots, and asks clients nothing: sessions with the same roots may share it
	First      bool // a relative path starts in the first directory served, and in no other unless it climbs
	Rewrite    Rewriting
}

// Match describes which servers a profile is about.
type Match struct {
	Servers  []string // serverInfo.name, exactly
	Packages []string // npm, PyPI or image name, without a version
	Commands []string // base name of a command or script
}

// relativeFirst is "relative" of a profile: the server takes a relative path from the first directory that it is served.
const relativeFirst = "first-root"

//go:embed profiles/*.json
var profileFiles embed.FS

// An embedded profile is parsed when a server is there that it is about.
type embedded struct {
	match   Match
	profile func() *Profile
}

// embeddedProfiles are all that are built in, by name.
var embeddedProfiles = sync.OnceValue(func() []embedded {
	names, _ := fs.Glob(profileFiles, "profiles/*.json") // the pattern is a constant
	list := make([]embedded, len(names))
	for i, name := range names {
		raw, _ := profileFiles.ReadFile(name) // it is in the program
		list[i].match = readMatch(raw)
		list[i].profile = sync.OnceValue(func() *Profile {
			p, err := parseProfile(strings.TrimSuffix(path.Base(name), ".json"), raw)
			if err != nil {
				panic("validate: the embedded " + name + " is broken: " + err.Error()) // a test parses them all
			}
			return p
		})
	}
	return list
})

// readMatch reads no more of an embedded profile than what it matches, which stands at its beginning. A test holds it to
// what parseProfile reads.
func readMatch(raw []byte) (m Match) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	for {
		switch token, err := dec.Token(); {
		case err != nil:
			return Match{}
		case token == "match":
			_ = dec.Decode(&m)
			return m
		}
	}
}

func parseProfile(name string, raw []byte) (*Profile, error) {
	var file struct {
		Comment    string `json:"//"`
		Match      json.RawMessage
		Mode       string
		RootsProbe string
		Tools      map[string]map[string]json.RawMessage
		Rewrite    []string
		Knows      string
		Relative   string
		Stateless  bool
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	p := &Profile{Name: name, RootsProbe: file.RootsProbe, knows: strings.Fields(file.Knows), First: file.Relative == relativeFirst, Stateless: file.Stateless}
	if err := json.Unmarshal(file.Match, &p.Match); err != nil {
		return nil, err
	}
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
	var err error
	if p.Rewrite, err = parseRewrite(file.Rewrite); err != nil {
		return nil, err
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
func ByServer(name string) *Profile {
	if name == "" {
		return nil
	}
	for _, e := range embeddedProfiles() {
		if slices.ContainsFunc(e.match.Servers, func(s string) bool { return strings.EqualFold(s, name) }) {
			return e.profile()
		}
	}
	return nil
}

// RootsProbe returns the tool by which a server lists the roots it has applied, "" if no profile of its names one.
func RootsProbe(command string, args []string) string {
	if p := ByCommand(command, args); p != nil {
		return p.RootsProbe
	}
	return ""
}

// ByCommand looks at the operator's own command line, which outweighs what a server calls itself.
func ByCommand(command string, args []string) *Profile {
	for _, token := range programTokens(command, args) {
		pkg, script := packageName(token), shell.BaseName(token)
		for _, e := range embeddedProfiles() {
			m := e.match
			if slices.Contains(m.Packages, pkg) || slices.Contains(m.Commands, script) || slices.Contains(m.Commands, pkg) ||
				slices.ContainsFunc(m.Packages, func(name string) bool { return strings.Contains(chars.ToSlash(token), "/node_modules/"+name+"/") }) {
				return e.profile()
			}
		}
	}
	return nil
}

// launchers run the program that their first plain argument names.
var launchers = chars.WordSet("npx bunx pnpx uvx uv pipx npm pnpm yarn bun deno node nodejs tsx python python3 py docker podman nerdctl env cmd sudo")

// launcherVerbs stand between a launcher and the program.
var launcherVerbs = chars.WordSet("run dlx exec tool x -y --yes container /c")

// packageFlags name the package; valueFlags take a value that is none.
var (
	packageFlags = chars.WordSet("-p --package --from -m")
	valueFlags   = chars.WordSet("--prefix --with --python -C --directory --project --index-url --cwd --registry -r --require --import --loader --env-file")
)

// programTokens returns the words of a command line that may name the server's program or package: the command itself
// and, behind a launcher, what it launches. Later arguments are data (directories, for instance) and never name it.
func programTokens(command string, args []string) []string {
	if command == "" {
		return nil
	}
	tokens := []string{command}
	if !launchers[shell.BaseName(command)] {
		return tokens
	}
	container := machine.ReadContainer(command, args) != nil
	for i := 0; i < len(args); i++ {
		a := args[i]
		name, value, has := strings.Cut(a, "=")
		switch {
		case packageFlags[name]:
			if !has && i+1 < len(args) {
				i++
				value = args[i]
			}
			tokens = append(tokens, value)
		case valueFlags[name] && !has:
			i++
		case launcherVerbs[a], strings.HasPrefix(a, "-") && !container:
		case container:
			tokens = append(tokens, a) // options of "run" take values; an image name is told by its own look
		case launchers[shell.BaseName(a)]:
			tokens = append(tokens, a)
		case strings.IndexByte(a, '=') > 0 && shell.BaseName(command) == "env":
		default:
			return append(tokens, a)
		}
	}
	return tokens
}

// packageName strips a version, tag, digest or extras: @scope/name@1.2, name[extra]==1, image:tag@sha256:...
func packageName(token string) string {
	if i := strings.LastIndexByte(token, '@'); i > 0 {
		token = token[:i]
	}
	for _, cut := range []string{"==", ">=", "~=", "["} {
		if i := strings.Index(token, cut); i > 0 {
			token = token[:i]
		}
	}
	if i := strings.LastIndexByte(token, ':'); i > strings.LastIndexByte(token, '/') && i > 1 {
		token = token[:i]
	}
	for _, host := range []string{"docker.io/", "library/"} {
		token = strings.TrimPrefix(token, host)
	}
	return token
}

// What a profile may say under "rewrite", and the words of Rewrite.Why. They are stable: audit lines and explain print
// them.
const (
	// RewriteFileURI: the server takes plain paths only. An argument that is a file URI with exactly one reading is
	// sent as that path, any other file URI is refused: such a server would open it as a relative name.
	RewriteFileURI = "file-uri"
	// RewriteResolvedRoot: the server compares paths as text with its roots, and has those resolved. A path that goes
	// through the spelling in which a root was given is sent with that prefix resolved, and nothing else changed.
	RewriteResolvedRoot = "resolved-root"
)

// Rewriting is the set of rewritings a profile asks for.
type Rewriting uint8

const (
	PlainPaths Rewriting = 1 << iota
	ResolvedRoots
)

func parseRewrite(words []string) (Rewriting, error) {
	var set Rewriting
	for _, w := range words {
		switch w {
		case RewriteFileURI:
			set |= PlainPaths
		case RewriteResolvedRoot:
			set |= ResolvedRoots
		default:
			return 0, fmt.Errorf("rewrite %s is none of %s, %s", chars.Quote(w), RewriteFileURI, RewriteResolvedRoot)
		}
	}
	return set, nil
}
