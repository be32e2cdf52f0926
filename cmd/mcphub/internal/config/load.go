package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/go-viper/mapstructure/v2"
	layers "github.com/knadh/koanf/maps"
	"github.com/knadh/koanf/providers/confmap"
	"github.com/knadh/koanf/providers/rawbytes"
	"github.com/knadh/koanf/v2"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/internal/reference"
	"mcphub/internal/spelling"
)

// delimiter joins koanf's key paths. Names of servers and variables hold dots.
const delimiter = "\x00"

// Load reads and checks the file at path. env looks up variables, as
// os.LookupEnv does; nil knows none. above are settings that count for more than
// the file, the later ones for more than the earlier: see Environment and Flags.
//
// Three outcomes:
//   - error nil, no Problem of SeverityError: all of it is usable.
//   - error nil, some of SeverityError: each lies in one server of mcpServers,
//     which has Err set and must not be started. The rest is usable.
//   - error not nil: the File is nil. The error is a *LoadError; it wraps what
//     reading gave (errors.Is fs.ErrNotExist), or lists the errors. The
//     Problems, in the order of the file, hold them too, beside the warnings.
func Load(path string, env func(string) (string, bool), above ...Setting) (*File, []Problem, error) {
	return LoadAs(path, path, env, above...)
}

// LoadAs works like Load as it would be if the file at path, which need not be there,
// read as the one at text does. Problems name the latter.
func LoadAs(path, text string, env func(string) (string, bool), above ...Setting) (*File, []Problem, error) {
	trail, err := hubfile.Follow(path) // before it is read: what changes later is a Watcher's to see
	if err != nil {
		return nil, nil, &LoadError{Path: path, Err: err}
	}
	data, err := hubfile.Read(text)
	if err != nil {
		return nil, nil, &LoadError{Path: text, Err: err}
	}
	return loadText(path, text, data, trail, env, above)
}

// Text returns what the file at path reads, and how the path leads to it.
func Text(path string) ([]byte, hubfile.Trail, error) {
	trail, err := hubfile.Follow(path) // before it is read: what changes later is a Watcher's to see
	if err != nil {
		return nil, trail, &LoadError{Path: path, Err: err}
	}
	data, err := hubfile.ReadRegular(path)
	if err != nil {
		return nil, trail, &LoadError{Path: path, Err: err}
	}
	return data, trail, nil
}

// LoadText works like Load as it would be if the file at path, to which trail leads, read data.
func LoadText(path string, data []byte, trail hubfile.Trail, env func(string) (string, bool), above ...Setting) (*File, []Problem, error) {
	return loadText(path, path, data, trail, env, above)
}

func loadText(path, name string, data []byte, trail hubfile.Trail, env func(string) (string, bool), above []Setting) (*File, []Problem, error) {
	f, problems, err := Parse(name, data, env, above...)
	if f != nil {
		// The hub protects this path, and the working directory may change.
		if abs, err := filepath.Abs(path); err == nil {
			f.Path = abs
		}
		f.Trail = trail
	}
	return f, problems, err
}

// Parse works like Load for text that was read already; name stands in the
// problems and becomes File.Path as it is.
func Parse(name string, data []byte, env func(string) (string, bool), above ...Setting) (*File, []Problem, error) {
	if len(data) > hubfile.MaxSize {
		return nil, nil, &LoadError{Path: name, Err: hubfile.ErrTooLarge}
	}
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	p := &parser{above: above, checker: checker{src: jsonc.NewSource(name, data), env: env, failed: map[string]*Problem{}, boxes: map[*jsonc.Node]bool{}}}
	f, err := p.loadFile()
	slices.SortStableFunc(p.problems, ByPlace)
	if err != nil || p.fatal {
		if p.fatal {
			err = nil
		}
		var le *LoadError
		if !errors.As(err, &le) {
			le = &LoadError{Path: name, Err: err, Errors: errorsOf(p.problems), Partial: f}
		}
		return nil, p.problems, le
	}
	f.Sum = hubfile.Sum(data)
	return f, p.problems, nil
}

func errorsOf(all []Problem) []Problem {
	return slices.DeleteFunc(slices.Clone(all), func(p Problem) bool { return p.Severity != SeverityError })
}

// Default returns the configuration without any file: the embedded child alone.
func Default() *File {
	f, _, err := WithoutFile(nil)
	if err != nil {
		panic(err) // the text is a constant; a test reads it
	}
	return f
}

// WithoutFile works like Load if there is no file: what the settings say,
// over the defaults. The embedded child is there unless they give all
// servers.
func WithoutFile(env func(string) (string, bool), above ...Setting) (*File, []Problem, error) {
	text := `{"mcpServers": {"files": {"builtin": "files"}}}`
	if slices.ContainsFunc(above, func(s Setting) bool { return len(s.path) == 1 && s.path[0] == "mcpServers" }) {
		text = `{}`
	}
	f, problems, err := Parse("", []byte(text), env, above...)
	if f != nil {
		f.Sum = ""
		if len(above) == 0 {
			f.src, f.tree = nil, nil
		}
	}
	return f, problems, err
}

// parser reads JSON with comments.
type parser struct {
	checker
	above []Setting
	tree  *jsonc.Node
}

// values are those of a text that was read. They are the koanf.Parser of that text.
type values map[string]any

// Unmarshal implements koanf.Parser.
func (v values) Unmarshal([]byte) (map[string]any, error) { return v, nil }

// Marshal implements koanf.Parser; nothing here writes a configuration.
func (v values) Marshal(m map[string]any) ([]byte, error) { return json.MarshalIndent(m, "", "  ") }

// readText returns the sound values of the text, in our spelling, each already of the type that File wants.
// ok is false if the text cannot be used.
func (p *parser) readText() (out values, ok bool) {
	raw, bad := p.src.Parse()
	if bad != nil {
		p.problems, p.fatal = append(p.problems, *problemAt(p.src, bad.Off, bad.Text, bad.Hint)), true
		return nil, false
	}
	if raw.Kind != '{' {
		p.reportError(nil, raw.Off, "found "+raw.What()+", want an object", `the least there can be is {"mcpServers": {}}`)
		return nil, false
	}
	p.tree = p.gatherEntries(raw)
	p.reportDuplicates(nil, raw)
	p.tree = p.overlaySettings(p.tree)
	out = values{}
	for _, m := range p.tree.Members {
		switch k := keys.Table.Find(m.Name); {
		case out[m.Name] != nil:
		case k == nil:
			p.reportUnknown(nil, m, keys.Table)
		case m.Name == "mcpServers":
			out[m.Name] = p.readServers(m.Value)
		default:
			if v, ok := p.checkValue([]string{m.Name}, m.Value, k.Spec); ok {
				out[m.Name] = v
			}
		}
	}
	return out, true
}

// readServers works like checkValue for mcpServers: one bad entry is one bad entry.
func (p *parser) readServers(box *jsonc.Node) map[string]any {
	out := map[string]any{}
	for _, m := range box.Members {
		p.idle = m.Value.Get("disabled").Is('t')
		v, _ := p.checkValue([]string{"mcpServers", m.Name}, m.Value, keys.Entry)
		p.idle = false
		if v == nil {
			v = map[string]any{}
		}
		out[m.Name] = v
	}
	return out
}

// loadFile loads the text over the defaults and fills a File.
func (p *parser) loadFile() (*File, error) {
	given, ok := p.readText()
	if !ok {
		return nil, nil
	}
	k := koanf.NewWithConf(koanf.Conf{Delim: delimiter})
	if err := k.Load(confmap.Provider(defaultLayer(p.tree.Get("mcpServers")), ""), nil); err != nil {
		return nil, err
	}
	var whole map[string]any // koanf gives no one its map without a copy of it, which takes longer than all else if there are many rules
	merge := koanf.WithMergeFunc(func(given, below map[string]any) error {
		layers.Merge(given, below)
		whole = below
		return nil
	})
	if err := k.Load(rawbytes.Provider(p.src.Data), given, merge); err != nil {
		return nil, err
	}
	var into struct {
		File    `koanf:",squash"`
		Servers map[string]*Server `koanf:"mcpServers"`
	}
	strict, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{Result: &into, ErrorUnused: true, TagName: "koanf"})
	if err != nil {
		return nil, err
	}
	if err := strict.Decode(whole); err != nil {
		return nil, fmt.Errorf("the table and the types of hub.json disagree: %w", err)
	}
	f := &into.File
	f.Path, f.src, f.tree = p.src.Name, p.src, p.tree
	p.finishFile(f, into.Servers)
	return f, nil
}

// defaultLayer returns the lowest layer: what the table says, and the same for
// every server that the file names.
func defaultLayer(entries *jsonc.Node) map[string]any {
	out := defaultsOf(keys.Table)
	servers := map[string]any{}
	if entries != nil {
		entry := defaultsOf(keys.Entry) // koanf copies it
		for _, m := range entries.Members {
			servers[m.Name] = entry
		}
	}
	out["mcpServers"] = servers
	return out
}

func defaultsOf(s *keys.Spec) map[string]any {
	out := map[string]any{}
	for _, k := range s.Keys {
		switch {
		case k.Def != "":
			src := jsonc.NewSource("", []byte(k.Def))
			c := &checker{src: src, failed: map[string]*Problem{}}
			if n, bad := src.Parse(); bad == nil {
				plain := *k.Spec
				plain.Expand = keys.ExpandNone // it needs no variables
				if v, ok := c.checkValue(nil, n, &plain); ok {
					out[k.Name] = v
				}
			}
		case k.Spec.Kind == keys.KindObject:
			if in := defaultsOf(k.Spec); len(in) > 0 {
				out[k.Name] = in
			}
		}
	}
	return out
}

// finishFile checks what no single key can show, and fills what is not a key.
func (p *parser) finishFile(f *File, servers map[string]*Server) {
	entries := p.tree.Get("mcpServers")
	if entries != nil {
		called := callNames(entries, f.Names.Separator)
		for _, m := range entries.Members {
			s := servers[m.Name]
			if s == nil {
				s = &Server{}
			}
			s.Key, s.Name = m.Name, called[m.Name]
			s.fillSandbox(f.Sandbox, m.Value)
			p.checkServer(s, m.Value, m.Off)
			s.Err = p.failed[m.Name]
			f.Servers = append(f.Servers, *s)
		}
	}
	if len(f.Servers) == 0 && !p.unread {
		p.reportProblem(SeverityWarning, []string{"mcpServers"}, p.tree.Off, "no server is named", `add one: "files": { "builtin": "files" }`)
	}
	if n := p.tree.Get("policy"); n.Is('{') {
		f.Policy.Raw = n.Canonical()
		p.readPolicy(f, n)
	}
	if n := p.tree.Get("expose").Get("tokens"); n != nil && f.Expose.Mode != "auto" {
		p.reportProblem(SeverityWarning, []string{"expose", "tokens"}, n.Off, fmt.Sprintf("has no effect with %q", f.Expose.Mode), `write "mode": "auto"`)
	}
	p.readToolsets(f)
	p.readTokens(f)
	p.readIssuers(f)
	p.checkInputs(f)
}

// checkInputs checks that no two inputs ask for one secret, and warns of a reference
// that none of them is for.
func (p *parser) checkInputs(f *File) {
	n := p.tree.Get("inputs")
	if n == nil || len(n.Elems) != len(f.Inputs) {
		return
	}
	seen := map[string]int{}
	for i, in := range f.Inputs {
		p.checkUnique(seen, in.ID, []string{"inputs", jsonc.Index(i), "id"}, n.Elems[i], "another input on line %d has the id "+jsonc.Quote(in.ID), "remove one of them")
	}
	for i := range f.Servers {
		for _, ref := range f.Servers[i].References() {
			if ref.Kind != reference.Input || seen[ref.Name] != 0 {
				continue
			}
			at := f.At(ref.At...)
			at.Severity, at.Text = SeverityWarning, ref.String()+" is none of inputs"
			at.Hint = DidYouMean(ref.Name, slices.Sorted(maps.Keys(seen)))
			p.problems = append(p.problems, at)
		}
	}
}

// checkUnique reports an element of a list that has the name of one before it. seen has the
// lines of those. text says so, and takes the line.
func (p *parser) checkUnique(seen map[string]int, name string, at []string, e *jsonc.Node, text, hint string) {
	if line, again := seen[name]; again {
		p.reportError(at, e.Off, strings.Replace(text, "%d", strconv.Itoa(line), 1), hint)
		return
	}
	seen[name], _ = p.src.At(e.Off)
}

func (p *parser) readPolicy(f *File, n *jsonc.Node) {
	rules := n.Get("rules")
	if rules == nil || len(rules.Elems) != len(f.Policy.Rules) { // some were not sound, which was reported
		return
	}
	seen := map[string]int{}
	for i := range f.Policy.Rules {
		r, e := &f.Policy.Rules[i], rules.Elems[i]
		at := []string{"policy", "rules", jsonc.Index(i)}
		if r.Name == "" {
			r.Name = fmt.Sprintf("rule %d", i+1)
		}
		p.checkUnique(seen, r.Name, appendStep(at, "name"), e, "another rule on line %d is called "+jsonc.Quote(r.Name), "rename one of them")
		if r.Serve && r.Then != keys.ThenEscalate {
			p.reportProblem(SeverityWarning, appendStep(at, "serve"), e.Get("serve").Off, fmt.Sprintf("has no effect with %q", r.Then), "leave it out")
		}
		p.ruleServers(f, at, r, e.Get("if").Get("servers"))
	}
}

// maxNamed is how many servers a message names.
const maxNamed = 8

// andMore reports that n others are not named.
func andMore(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %d more", n)
}

// DidYouMean proposes the word that was most likely meant; "" if none is close.
func DidYouMean(word string, among []string) string {
	if best := spelling.Suggest(word, among); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	return ""
}

// unknownName reports that a name or a pattern fits none of the names of a kind of thing, and what to do.
func unknownName(kind, pattern string, names []string) (text, hint string) {
	text = "there is no " + kind + " " + jsonc.Quote(pattern)
	if strings.ContainsAny(pattern, `*?[\`) {
		text = "no " + kind + " is called like " + jsonc.Quote(pattern)
	}
	switch hint = DidYouMean(pattern, names); {
	case hint == "" && len(names) > 0:
		hint = "the " + kind + "s are " + strings.Join(names[:min(len(names), maxNamed)], ", ") + andMore(len(names)-maxNamed)
	}
	return text, hint
}

// ruleServers warns of a rule for a server that is not there.
func (p *parser) ruleServers(f *File, at []string, r *Rule, n *jsonc.Node) {
	names := f.ServerNames()
	for i, pattern := range r.If.Servers {
		if slices.ContainsFunc(names, func(name string) bool { ok, err := path.Match(pattern, name); return ok && err == nil }) {
			continue
		}
		text, hint := unknownName("server", pattern, names)
		p.reportProblem(SeverityWarning, appendStep(at, "if", "servers", jsonc.Index(i)), n.Elems[i].Off, text, hint)
	}
}

// readIssuers checks whose tokens count, and that there is someone whose tokens can be exchanged.
func (p *parser) readIssuers(f *File) {
	for i := range f.Servers {
		s := &f.Servers[i]
		if len(f.HTTP.Issuers) == 0 && s.Auth != nil && s.Auth.Flow == keys.FlowExchange && !s.Disabled && s.Err == nil {
			flow := p.tree.Get("mcpServers").Get(s.Key).Get("auth").Get("flow")
			p.reportProblem(SeverityWarning, []string{"mcpServers", s.Key, "auth", "flow"}, flow.Off, "no one can call this server: only tokens of issuers are exchanged, and no issuer is named", `add "issuers" under "http"`)
		}
	}
	n := p.tree.Get("http").Get("issuers")
	if n == nil || len(n.Elems) != len(f.HTTP.Issuers) {
		return
	}
	if len(f.HTTP.Issuers) > 0 && f.HTTP.Resource == "" {
		p.reportError([]string{"http", "issuers"}, n.Off, "clients find an authorization server by the address of this hub, which is not said", `add "resource": "https://hub.example/mcp" with its own name`)
	}
	seen := map[string]int{}
	for i, one := range f.HTTP.Issuers {
		if one.Login.Env != "" {
			p.checkHolder([]string{"http", "issuers", jsonc.Index(i), "login"}, n.Elems[i].Get("login"), one.Login.Secret, "a secret")
		}
		p.checkUnique(seen, one.Issuer, []string{"http", "issuers", jsonc.Index(i), "issuer"}, n.Elems[i], "line %d has this issuer too", "remove one of them")
	}
}

// checkHolder checks that a secret at one place is held by a variable or by a file, and not by both.
func (p *parser) checkHolder(at []string, n *jsonc.Node, s Secret, what string) {
	if (s.Env == "") == (s.File == "") {
		p.reportError(at, n.Off, what+" is held by a variable or by a file", `give one of "env" and "file"`)
	}
}

func (p *parser) readTokens(f *File) {
	if n := p.tree.Get("metrics").Get("token"); n != nil {
		p.checkHolder([]string{"metrics", "token"}, n, f.Metrics.Token, "the token")
	}
	if n := p.tree.Get("http").Get("auth"); n != nil && f.HTTP.Auth == keys.AuthNone && f.HTTP.NamesTokens() {
		p.reportError([]string{"http", "auth"}, n.Off, "hub.json says whose tokens count, and this, that nobody needs one", `leave it out, or take "http.tokens" and "http.issuers" out`)
	}
	if n := p.tree.Get("http").Get("stateKey"); n != nil {
		for _, s := range f.HTTP.StateKey {
			p.checkHolder([]string{"http", "stateKey"}, n, s, "each key")
		}
	}
	n := p.tree.Get("http").Get("tokens")
	if n == nil || len(n.Elems) != len(f.HTTP.Tokens) {
		return
	}
	seen := map[string]int{}
	for i, t := range f.HTTP.Tokens {
		p.checkHolder([]string{"http", "tokens", jsonc.Index(i)}, n.Elems[i], Secret{Env: t.Env, File: t.File}, "a token")
		p.checkUnique(seen, t.Name, []string{"http", "tokens", jsonc.Index(i), "name"}, n.Elems[i], "another token on line %d is called "+jsonc.Quote(t.Name), "rename one of them")
	}
}
