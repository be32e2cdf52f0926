package setup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"mcphub/children"
	"mcphub/children/headers"
	"mcphub/children/hints"
	"mcphub/children/offers"
	"mcphub/children/sandbox"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/hub"
	"mcphub/internal/methods"
	"mcphub/internal/printable"
	"mcphub/internal/reference"
	"mcphub/internal/trust"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/rootsmgr/platform"
	"mcphub/validate/policy"
	"mcphub/validate/strictjson"
)

// lintFile lists what is wrong with a configuration that can be read, as far as it
// shows without starting anything. An error is what will not work as it is
// written; a warning is very likely a mistake. bad are the servers with errors.
func lintFile(f *config.File, cfg *hub.Config) (found []config.Problem, bad map[string]bool) {
	l := linter{file: f, cfg: cfg, tools: map[string][]string{}, bad: map[string]bool{}}
	for i := range cfg.Children {
		spec := cfg.Children[i].Spec
		l.tools[spec.Name] = offers.KnownTools(cfg.Cache, spec.Identity())
	}
	for i := range cfg.Children {
		l.lintEntry(&cfg.Children[i])
	}
	l.lintSecrets()
	l.lintPrefixes()
	l.lintRules()
	l.lintPeople()
	l.lintRoots()
	l.lintHTTP()
	l.lintMetrics()
	return l.found, l.bad
}

type linter struct {
	file  *config.File
	cfg   *hub.Config
	tools map[string][]string // what is known of each server; nil: nothing
	found []config.Problem
	bad   map[string]bool
}

func (l *linter) reportProblem(sev config.Severity, text, hint string, path ...string) {
	p := l.file.At(path...)
	p.Severity, p.Text, p.Hint = sev, text, hint
	if path[0] == "mcpServers" && sev == config.SeverityError {
		l.bad[path[1]] = true
	}
	l.found = append(l.found, p)
}

// addCure adds to what was reported last the command line that mends it.
func (l *linter) addCure(run ...string) { l.found[len(l.found)-1].Command = run }

// lintEntry finds what a server lacks, and tools that it is not known to have.
func (l *linter) lintEntry(c *hub.Child) {
	name := c.Spec.Name
	for _, lack := range l.cfg.Host().Lacks(c.Spec) {
		l.reportProblem(config.SeverityError, reference.Show(lack.Text), lack.Hint, append([]string{"mcpServers", name}, lack.Key...)...)
		l.addCure(lack.Run...)
	}
	if doubt := c.Spec.ProjectWarning(); doubt != "" {
		l.reportProblem(config.SeverityWarning, reference.Show(doubt), "", "mcpServers", name, "command")
	}
	if aside := c.Spec.Program().Aside(); aside != "" {
		l.reportProblem(config.SeverityNote, reference.Show(aside), `"cwd" names a folder of your own to start in; "local": true has it start in the root, and obey that file`, "mcpServers", name, "command")
	}
	l.lintSandbox(c)
	l.lintTLS(c)
	if c.Spec.HeadersFrom.Command != "" {
		_, err := children.HeaderProgramOf(c.Spec, l.cfg.Environ, l.cfg.Written).Find()
		if bad, ok := errors.AsType[*headers.Error](err); ok {
			l.reportProblem(config.SeverityError, bad.Text, "", "mcpServers", name, "headersFrom")
		}
	}
	l.checkNamedPaths(c)
	for k, patterns := range [][]string{c.Include, c.Exclude, c.Always} {
		key := []string{"include", "exclude", "always"}[k]
		for i, pattern := range patterns {
			l.checkToolPattern([]string{name}, pattern, "mcpServers", name, "tools", key, strconv.Itoa(i))
		}
	}
	if s := l.file.Server(name); s != nil {
		for tool := range s.Paths.Args {
			l.checkToolPattern([]string{name}, tool, "mcpServers", name, "paths", "args", tool)
		}
		l.lintWords(s)
	}
}

// lintWords finds tools that a server is not known to have, in what its entry says about single ones, and a name that it has for two.
func (l *linter) lintWords(s *config.Server) {
	check := func(tool string, path ...string) {
		l.checkToolPattern([]string{s.Name}, tool, append(append([]string{"mcpServers", s.Name}, path...), tool)...)
	}
	for _, own := range slices.Sorted(maps.Keys(s.Tools.Rename)) {
		check(own, "tools", "rename")
		alias := s.Tools.Rename[own]
		if slices.Contains(l.tools[s.Name], alias) && s.Tools.Rename[alias] == "" && l.cfg.Wanted()(s.Name, alias) {
			l.reportProblem(config.SeverityError, fmt.Sprintf("the server has another tool called %q", alias), "give this one another name, or rename the other one as well", "mcpServers", s.Name, "tools", "rename", own)
		}
	}
	for tool := range s.Tools.Describe {
		check(tool, "tools", "describe")
	}
	for tool := range s.Tools.Set {
		check(tool, "tools", "set")
	}
	for pattern := range s.Limits.Tools {
		if !strings.Contains(pattern, "/") { // that is of methods
			check(pattern, "limits", "tools")
		}
	}
}

// lintTLS finds files of a server's TLS that cannot be used.
func (l *linter) lintTLS(c *hub.Child) {
	set, name := c.Spec.TLS, c.Spec.Name
	_, err := set.Server("", func(text string) {
		l.reportProblem(config.SeverityWarning, text, "", "mcpServers", name, "tls", "key")
	})
	bad, ok := errors.AsType[*trust.Error](err)
	if !ok {
		return
	}
	path := []string{"mcpServers", name, "tls"}
	for i, f := range []trust.File{set.CA, set.Cert, set.Key} {
		if f.Path != "" && f.At == bad.At && strings.Contains(bad.Text, f.Path) {
			path = append(path, []string{"ca", "cert", "key"}[i])
			break
		}
	}
	l.reportProblem(config.SeverityError, bad.Text, "correct the file, or the path", path...)
}

// lintSandbox finds what a server asks of the kernel that this system cannot hold, and
// paths of it that are not there.
func (l *linter) lintSandbox(c *hub.Child) {
	set, name := c.Spec.Sandbox, c.Spec.Name
	if set.Mode == sandbox.Off || set.Mode == sandbox.Auto && set.Default {
		return // of what no one has asked for mcphub doctor tells
	}
	lacks, serious := sandbox.CurrentKernel().Lacks(&sandbox.Profile{Network: set.Network, Sockets: set.Sockets == sandbox.Yes, Attributes: set.Mode == sandbox.Required}, func() []string { return sandbox.Reach(l.cfg.Environ, l.cfg.Home) })
	if cannot := c.Spec.Program().Unheld(sandbox.CurrentKernel()); cannot != "" {
		lacks, serious = []string{cannot}, true
	}
	sev := config.SeverityNote
	if serious && set.Mode == sandbox.Required {
		sev = config.SeverityError
	}
	if len(lacks) > 0 {
		l.reportProblem(sev, strings.Join(lacks, "; "), "", "mcpServers", name, "sandbox")
	}
	for key, paths := range [][]string{set.Read, set.Write} {
		for i, path := range paths {
			if lookAt(path) != nil {
				l.reportProblem(config.SeverityWarning, "there is no "+path, "", "mcpServers", name, "sandbox", []string{"read", "write"}[key], strconv.Itoa(i))
			}
		}
	}
}

// checkNamedPaths finds paths that an entry names and that the kernel keeps closed to its server, and
// files beside which the server cannot make others.
func (l *linter) checkNamedPaths(c *hub.Child) {
	in := l.cfg.Fallback
	if in.IsEmpty() { // a program works in a root, and any other folder tells as much
		dir := l.cfg.Dir
		if sandbox.Contains(dir, l.cfg.Home) {
			dir = l.file.Dir()
		}
		in = rootsmgr.Fallback{Origin: rootsmgr.OriginConfig, Entries: []rootsmgr.RootEntry{{URI: dir}}}
	}
	roots := rootsmgr.NewSnapshot(guard.OS{}, 1, in.Origin, in.Entries).Roots()
	held := l.cfg.Host().Confinement(c.Spec, roots)
	if held == nil {
		return
	}
	for _, n := range held.Named {
		f, less := held.Restricts(n)
		if !less {
			continue
		}
		m := hints.RemedyFor(c.Spec.Name, f, nil)
		if m.Text == n.Why { // which is said already
			m.Text = "name a file or a folder that is the server's own"
		}
		l.reportProblem(config.SeverityWarning, hints.RestrictionText(c.Spec.Name, n), m.Text, append([]string{"mcpServers", c.Spec.Name}, splitPointer(n.Key)...)...)
		if m.Run != nil {
			l.addCure(append([]string{"mcphub"}, m.Run...)...)
		}
	}
}

// splitPointer returns the parts of a JSON pointer.
func splitPointer(text string) (parts []string) {
	for part, rest, ok := strictjson.CutToken(text); ok; part, rest, ok = strictjson.CutToken(rest) {
		parts = append(parts, part)
	}
	return parts
}

// lookTime is how long the keyring may take here, all secrets together.
const lookTime = time.Second

// lintSecrets warns of references that show their value to others, and of secrets that are
// not set.
func (l *linter) lintSecrets() {
	var warned string
	kept := Secrets(l.file, l.cfg.Home)
	kept.Warn = func(text string) { warned = text }
	store := secrets.New(kept)
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	seen := map[reference.Ref]bool{}
	for i := range l.file.Servers {
		s := &l.file.Servers[i]
		if s.Disabled || s.Err != nil {
			continue
		}
		for _, r := range s.References() {
			if r.At[2] == "args" {
				l.reportProblem(config.SeverityWarning, fmt.Sprintf("the value of %s will stand in the list of processes, where every user can read it", r), `pass it under "env"`, r.At...)
			}
			if r.Kind == reference.File {
				r.Name = resolvePath(l.file, r.Name, l.cfg.Home, false)
			}
			if seen[r.Ref] {
				continue
			}
			seen[r.Ref] = true
			warned = ""
			_, err := store.Resolve(ctx, r.Ref, nil)
			if unset, ok := errors.AsType[*secrets.NotSetError](err); ok {
				l.reportProblem(config.SeverityWarning, unset.What(), "", r.At...)
				l.addCure("mcphub", "secret", "set", unset.Name)
			} else if err != nil {
				l.reportProblem(config.SeverityWarning, err.Error(), "", r.At...)
			} else if warned != "" {
				l.reportProblem(config.SeverityWarning, warned, "", r.At...)
			}
		}
	}
}

// checkToolPattern warns of a pattern that no tool of these servers is called like, if
// the tools of all of them are known.
func (l *linter) checkToolPattern(servers []string, pattern string, path ...string) {
	var all []string
	for _, name := range servers {
		if l.tools[name] == nil {
			return
		}
		all = append(all, l.tools[name]...)
	}
	if len(all) == 0 || slices.ContainsFunc(all, func(tool string) bool {
		ok, err := policy.MatchName(pattern, tool)
		return ok || err != nil
	}) {
		return
	}
	lists := "mcphub tools"
	if len(servers) == 1 {
		lists = printable.CommandLine(printable.BuildCommand("mcphub tools", nil, servers[0]))
	}
	whose := "no server that this is about has"
	if len(servers) == 1 {
		whose = servers[0] + " has not offered"
	}
	l.reportProblem(config.SeverityWarning, fmt.Sprintf("%s a tool called %q so far", whose, pattern), cmp.Or(config.DidYouMean(pattern, all), lists+" lists what there is"), path...)
}

// lintPrefixes warns of two servers whose tools begin alike. Without any prefix
// every server says so itself.
func (l *linter) lintPrefixes() {
	first := map[string]string{}
	for i := range l.cfg.Children {
		c := &l.cfg.Children[i]
		prefix := strings.ToLower(c.Prefix)
		if prefix == "" {
			continue
		}
		if other, again := first[prefix]; again {
			path := []string{"mcpServers", c.Spec.Name}
			if s := l.file.Server(c.Spec.Name); s != nil && s.Prefix != nil {
				path = append(path, "prefix")
			}
			l.reportProblem(config.SeverityWarning, fmt.Sprintf("the tools of %q begin with %q too, so nobody can tell them apart by that", other, c.Prefix), `give one of them another "prefix"`, path...)
			continue
		}
		first[prefix] = c.Spec.Name
	}
}

// lintRules warns of rules about folders that are not there, and for tools that none
// of their servers has. That there is no such server config has said.
func (l *linter) lintRules() {
	info, _ := l.cfg.Checker.Policy()
	for i := range info.Rules {
		if r := &info.Rules[i]; r.Dir != "" && !r.Found {
			l.reportProblem(config.SeverityWarning, "there is no folder "+r.Dir+", or it may not be looked at", "make the folder, or correct the path", "policy", "rules", strconv.Itoa(i), "if", "paths", "within")
		}
	}
	for i := range l.file.Policy.Rules {
		r := &l.file.Policy.Rules[i]
		var servers []string
		for k := range l.cfg.Children {
			name := l.cfg.Children[k].Spec.Name
			if len(r.If.Servers) == 0 || slices.ContainsFunc(r.If.Servers, func(p string) bool { return fitsPattern(p, name) }) {
				servers = append(servers, name)
			}
		}
		for k, pattern := range r.If.Tools {
			if len(servers) == 0 || slices.ContainsFunc(methods.Judged(), func(m string) bool { return fitsPattern(pattern, m) && m != methods.CallTool }) {
				continue
			}
			l.checkToolPattern(servers, pattern, "policy", "rules", strconv.Itoa(i), "if", "tools", strconv.Itoa(k))
		}
	}
}

// lintRoots warns of directories that are not there.
func (l *linter) lintRoots() {
	for _, from := range slices.Sorted(maps.Keys(l.file.Roots.Map)) {
		to := l.file.Roots.Map[from]
		if lookAt(resolvePath(l.file, to, l.cfg.Home, false)) != nil {
			l.reportFolder("it maps to nothing: ", "there is no such directory", to, "roots", "map", from)
		}
	}
	for i := range l.file.Servers {
		s := &l.file.Servers[i]
		if s.Err != nil {
			continue
		}
		for k, dir := range ownRoots(l.file, s) {
			for _, sk := range skippedRoots(dir) {
				l.reportFolder("it is no root: ", sk.Reason, s.Roots[k], "mcpServers", s.Key, "roots", strconv.Itoa(k))
			}
		}
	}
	in := rootsmgr.FallbackInput{ConfigDir: l.file.Dir(), WorkDir: l.cfg.Dir, FS: guard.OS{}}
	for i, r := range l.file.Roots.Fallback {
		in.Config = []rootsmgr.RootEntry{{URI: r.Path, Name: r.Name}}
		_, skipped, err := rootsmgr.BuildFallback(in)
		for _, sk := range skipped {
			l.reportFolder("it is no root: ", sk.Reason, r.Path, "roots", "fallback", strconv.Itoa(i))
		}
		if err != nil {
			l.reportProblem(config.SeverityWarning, err.Error(), "", "roots", "fallback", strconv.Itoa(i))
		}
	}
}

// reportFolder warns of a directory of a list that cannot be used.
func (l *linter) reportFolder(what, why, dir string, path ...string) {
	l.reportProblem(config.SeverityWarning, what+why, "correct it, or take it out of the list", path...)
	if platform.IsFileURI(dir) || strings.Contains(dir, "://") || strings.ContainsAny(dir, "*?[{") {
		return
	}
	if full := resolvePath(l.file, dir, l.cfg.Home, false); errors.Is(lookAt(full), fs.ErrNotExist) {
		l.found[len(l.found)-1].Hint = "make the folder, or take it out of the list"
		l.addCure("mkdir", "-p", full)
	}
}

// lookAt returns the error of a look at a path. It looks at no other machine, since only the roots of a session name one.
func lookAt(path string) error {
	if !guard.MayFollow(path, nil) {
		return nil
	}
	_, err := os.Stat(path)
	return err
}

// lintMetrics finds why what is counted would be told no one.
func (l *linter) lintMetrics() {
	if l.file.Metrics.Listen == "" {
		return
	}
	if l.file.Metrics.Token == (config.Secret{}) && isReached(l.file.Metrics.Listen) {
		l.reportProblem(config.SeverityError, fmt.Sprintf("%s can be reached from other machines, so metrics are not served there without a token", l.file.Metrics.Listen),
			`add "metrics.token", or listen on 127.0.0.1`, "metrics", "listen")
	}
	_, err := MetricsOptions(l.file, os.LookupEnv)
	if p, ok := errors.AsType[config.Problem](err); ok { // it may be said otherwise where serve runs
		p.Severity, p.Text = config.SeverityWarning, "metrics would not be served: "+p.Text
		l.found = append(l.found, p)
	}
}

// lintHTTP finds what serve --http would refuse to begin with, if the file has an
// http block at all.
func (l *linter) lintHTTP() {
	if !l.file.HTTP.NamesTokens() && isReached(l.file.HTTP.Listen) {
		l.reportProblem(config.SeverityError, fmt.Sprintf("%s can be reached from other machines, so serve --http refuses it without tokens", l.file.HTTP.Listen),
			`add "http.tokens", or listen on 127.0.0.1`, "http", "listen")
	}
	if l.file.HTTP.Auth == keys.AuthNone {
		l.reportProblem(config.SeverityWarning, OpenText, `leave it out: then serve --http asks for a token, and mcphub install CLIENT --http gives a client the one that the hub makes`, "http", "auth")
	} else if place, err := TokenPlace(l.file, os.Getenv); err == nil && l.file.HTTP.MakesToken() {
		if _, err := place.Read(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			l.reportProblem(config.SeverityWarning, "serve --http would not start: "+err.Error(), "", "http", "auth")
		}
	}
	if l.file.HTTP.NamesTokens() && l.file.HTTP.When.AllowWithoutRoots {
		l.reportProblem(config.SeverityWarning, `where neither a client nor its token names roots, roots.when decides: whoever can give none may name every path`,
			`leave it out, and name directories in "roots" of tokens and issuers`, "http", "when", "noRoots")
	}
	_, err := HTTPOptions(l.file, os.LookupEnv, zerolog.Nop())
	if p, ok := errors.AsType[config.Problem](err); ok { // it may be said otherwise where serve runs
		p.Severity, p.Text = config.SeverityWarning, "serve --http would not start: "+p.Text
		l.found = append(l.found, p)
	}
	for i, t := range l.file.HTTP.Tokens {
		for k, dir := range t.Roots {
			for _, sk := range skippedRoots(rootsmgr.SettingEntry(guard.OS{}, dir, l.file.Dir())) {
				l.reportFolder("it opens nothing: ", sk.Reason, dir, "http", "tokens", strconv.Itoa(i), "roots", strconv.Itoa(k))
			}
		}
	}
}

// IsLocalAddress reports whether only this machine reaches an address of numbers.
func IsLocalAddress(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip, bad := netip.ParseAddr(host)
	return err == nil && bad == nil && ip.Unmap().IsLoopback()
}

// isReached reports whether other machines reach an address as it is written. A name is not looked
// up: who listens there is told about it.
func isReached(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false // config has said what is wrong with it
	}
	_, bad := netip.ParseAddr(host)
	return (host == "" || bad == nil) && !IsLocalAddress(address)
}
