package registry

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients/edit"
	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

// The ways to run a server that hub.json can say, as an entry names them.
const (
	NPM    = "npm"
	PyPI   = "pypi"
	OCI    = "oci"
	Remote = "remote"
)

// maxParts bounds the arguments, variables and headers of an entry, each.
const maxParts = 100

// Options are what a person said of a server that is to be added.
type Options struct {
	Name string            // in hub.json; secrets are named by it
	Way  string            // one of the ways above; "": the first that can be had
	Set  map[string]string // values, by the name of what the entry asks for
	Ask  []string          // names of what is to be asked for and kept as a secret

	Taken func(secret string) bool // a secret of this name is another server's; nil: none is
}

// An Install is what a server amounts to in hub.json.
type Install struct {
	Way    string
	Entry  edit.Table   // of "mcpServers"
	Inputs []edit.Table // for "inputs": what Entry refers to by ${input:ID}
	Notes  []string     // what a person should know, in words
}

// Install returns what an entry amounts to. It takes the first way that hub.json can
// say, or Options'. The error reports what is not supported, or why the entry is
// refused.
func (s *Server) Install(o Options) (*Install, error) {
	var not []error
	for i := range s.Packages {
		p := &s.Packages[i]
		if o.Way != "" && o.Way != p.RegistryType {
			continue
		}
		in, err := s.fillInstall(o, p.RegistryType, not, func(f *filler) error { return f.fillPackage(p) })
		if err == nil {
			return in, nil
		}
		not = append(not, fmt.Errorf("%s package %s: %w", printable.Escape(p.RegistryType, 20), printable.Quote(p.Identifier), err))
	}
	if o.Way == "" || o.Way == Remote {
		remotes := slices.Clone(s.Remotes)
		slices.SortStableFunc(remotes, func(a, b Transport) int { return strings.Compare(b.Type, a.Type) }) // sse is the older
		for i := range remotes {
			in, err := s.fillInstall(o, Remote, not, func(f *filler) error { return f.fillRemote(&remotes[i]) })
			if err == nil {
				return in, nil
			}
			not = append(not, fmt.Errorf("remote %s: %w", printable.Quote(remotes[i].URL), err))
		}
	}
	switch {
	case len(not) > 0:
		return nil, errors.Join(not...)
	case o.Way != "":
		return nil, fmt.Errorf("it has no %s; it has: %s", printable.Quote(o.Way), printable.List(s.Ways()))
	}
	return nil, errors.New("its entry says neither what to run nor where it is")
}

// fillInstall fills in one way. not reports why others before it cannot be had.
func (s *Server) fillInstall(o Options, way string, not []error, fill func(*filler) error) (*Install, error) {
	f := filler{o: o, local: way == NPM || way == PyPI, said: map[string]bool{}}
	f.out.Way = way
	if err := fill(&f); err != nil {
		return nil, err
	}
	for _, name := range slices.AppendSeq(slices.Clone(o.Ask), maps.Keys(o.Set)) {
		if !f.said[name] {
			return nil, fmt.Errorf("it asks for nothing that is called %s", printable.Quote(name))
		}
	}
	for _, err := range not {
		f.noteHint("it is not taken as %v", err)
	}
	for _, other := range s.Ways() {
		if other != way && o.Way == "" {
			f.noteHint("its entry has another way too: --use %s", printable.Escape(other, 20))
		}
	}
	if s.Status == StatusDeprecated {
		f.noteHint("it is deprecated%s", shortReason(s.StatusMessage))
	}
	slices.Sort(f.out.Notes)
	f.out.Notes = slices.Compact(f.out.Notes)
	return &f.out, nil
}

// What may stand in the name and version of a package. None begins with a sign that its
// launcher would read as an option, as a path, as an address or as another name.
var (
	npmName    = lazyregexp.New(`^(@[a-zA-Z0-9][a-zA-Z0-9._-]*/)?[a-zA-Z0-9][a-zA-Z0-9._-]*$`)
	npmVersion = lazyregexp.New(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)
	pypiName   = lazyregexp.New(`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`)
	pypiVer    = lazyregexp.New(`^([0-9]+!)?[0-9]+(\.[0-9]+)*[-._]?((a|b|c|rc|alpha|beta|pre|preview|post|rev|r|dev)[-._]?[0-9]*[-._]?)*(\+[a-z0-9]+([-._][a-z0-9]+)*)?$`)
	ociImage   = lazyregexp.New(`^([a-z0-9]+(?:[.-][a-z0-9]+)*(?::[0-9]+)?/)?([a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*)(?::([A-Za-z0-9_][A-Za-z0-9_.-]{0,127}))?(@sha256:[0-9a-f]{64})?$`)
)

// places are where launchers get a package, for each kind. Which one is theirs to say.
var places = map[string][]string{
	NPM:  {"https://registry.npmjs.org"},
	PyPI: {"https://pypi.org"},
	OCI:  {"https://docker.io", "https://ghcr.io", "https://quay.io", "https://mcr.microsoft.com"},
}

var launchers = map[string]string{NPM: "npx", PyPI: "uvx", OCI: "docker"}

// fillPackage returns a package that is run on this machine.
func (f *filler) fillPackage(p *Package) error {
	kind := p.RegistryType
	launcher, known := launchers[kind]
	switch {
	case !known && kind == "":
		return errors.New("it has no registryType")
	case !known:
		return fmt.Errorf("packages of the kind %s are not supported: mcphub runs npm, pypi and oci", printable.Quote(kind))
	case p.Transport.Type != "stdio":
		return fmt.Errorf("it is spoken to by %s, and mcphub starts servers that are spoken to by stdio", printable.Quote(p.Transport.Type))
	case p.RuntimeHint != "" && p.RuntimeHint != launcher:
		return fmt.Errorf("it is run by %s, and mcphub runs %s packages by %s", printable.Quote(p.RuntimeHint), kind, launcher)
	case p.RegistryBaseURL != "" && !slices.Contains(places[kind], strings.TrimSuffix(p.RegistryBaseURL, "/")):
		return fmt.Errorf("it comes from %s, and %s gets it from where it is set up to", printable.Quote(p.RegistryBaseURL), launcher)
	case p.FileSHA256 != "":
		return fmt.Errorf("its entry names a digest of its file, which %s does not compare", launcher)
	case len(p.EnvironmentVariables) > maxParts || len(p.PackageArguments) > maxParts || len(p.RuntimeArguments) > maxParts:
		return fmt.Errorf("it has more than %d arguments or variables", maxParts)
	}
	words, err := pinnedWords(p)
	if err != nil {
		return err
	}
	var env edit.Table
	for i := range p.EnvironmentVariables {
		if err := f.addVariable(&env, &p.EnvironmentVariables[i]); err != nil {
			return err
		}
	}
	var args []any
	if kind == OCI {
		image := words[0]
		before, err := f.containerWords(&env, p.RuntimeArguments)
		if err != nil {
			return err
		}
		args = append([]any{"run", "-i", "--rm"}, before...)
		for _, v := range env {
			args = append(args, "-e", v.Name)
		}
		args = append(args, image)
	} else {
		if err := onlyAgrees(p.RuntimeArguments); err != nil {
			return fmt.Errorf("%s: %w", launcher, err)
		}
		for _, w := range words {
			args = append(args, w)
		}
	}
	for i := range p.PackageArguments {
		more, err := f.argumentWords(&p.PackageArguments[i])
		if err != nil {
			return err
		}
		args = append(args, more...)
	}
	f.out.Entry = edit.Table{{Name: "command", Value: launcher}, {Name: "args", Value: args}}
	if len(env) > 0 {
		f.out.Entry = f.out.Entry.With("env", env)
	}
	return nil
}

// pinnedWords returns the words that name a package and the one version that is run.
func pinnedWords(p *Package) ([]string, error) {
	id, version := p.Identifier, p.Version
	noVersion := errors.New("it names no version, and without one another program could be run tomorrow")
	switch p.RegistryType {
	case NPM:
		switch {
		case !npmName.MatchString(id) || len(id) > 214:
			return nil, errors.New("that is no name of a package of npm")
		case version == "":
			return nil, noVersion
		case !npmVersion.MatchString(version) || len(version) > 255:
			return nil, fmt.Errorf("%s is no version of a package of npm", printable.Quote(version))
		}
		return []string{"-y", id + "@" + version}, nil
	case PyPI:
		switch {
		case !pypiName.MatchString(id) || len(id) > 214:
			return nil, errors.New("that is no name of a package of PyPI")
		case version == "":
			return nil, noVersion
		case !pypiVer.MatchString(version) || len(version) > 255:
			return nil, fmt.Errorf("%s is no version of a package of PyPI", printable.Quote(version))
		}
		return []string{id + "==" + version}, nil
	}
	parts := ociImage.FindStringSubmatch(id)
	if parts == nil || len(id) > 512 {
		return nil, errors.New("that is no name of an image")
	}
	tag, digest := parts[3], parts[4]
	switch {
	case tag == "" && digest == "" && version != "":
		id, tag = id+":"+version, version
		if !ociImage.MatchString(id) {
			return nil, fmt.Errorf("%s is no tag of an image", printable.Quote(version))
		}
	case version != "" && tag != "" && tag != version:
		return nil, fmt.Errorf("its image and its version (%s) contradict each other", printable.Quote(version))
	}
	if digest == "" && (tag == "" || tag == "latest") {
		return nil, noVersion
	}
	return []string{id}, nil
}

// onlyAgrees holds that the arguments for a launcher say nothing but yes. All else of
// npx and uvx decides what is run, or its origin.
func onlyAgrees(all []Argument) error {
	for i := range all {
		a := &all[i]
		word := a.Name
		if a.Type == "positional" {
			word = a.Value
		}
		if word != "-y" && word != "--yes" {
			return fmt.Errorf("its argument %s is not supported, since it changes what is run", printable.Quote(word))
		}
	}
	return nil
}

// containerWords returns what an entry says to docker. Variables go into env, directories are
// mounted if a person named them, and all else is refused: it would open this machine.
func (f *filler) containerWords(env *edit.Table, all []Argument) ([]any, error) {
	var out []any
	for i := 0; i < len(all); i++ {
		a := all[i]
		if a.Type == "positional" {
			a.Name = a.Value
			if takesValue(a.Name) && i+1 < len(all) && all[i+1].Type == "positional" { // -v, then what is mounted
				i++
				a.Input = all[i].Input
			}
		} else if a.Type != "named" {
			return nil, fmt.Errorf("an argument of the kind %s is not known", printable.Quote(a.Type))
		}
		switch a.Name {
		case "run", "-i", "--interactive", "--rm", "--init":
		case "-e", "--env":
			name, value, ok := strings.Cut(a.Value, "=")
			if !ok {
				return nil, fmt.Errorf("docker: %s %s names no value", a.Name, printable.Quote(a.Value))
			}
			v := KeyValue{Name: name, Input: a.Input}
			v.Value = value
			if err := f.addVariable(env, &v); err != nil {
				return nil, err
			}
		case "-w", "--workdir":
			text, ok, err := f.findValue(a.Name, &a.Input)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, "--workdir", text)
			}
		case "-v", "--volume", "--mount":
			text, ok, err := f.mountText(&a)
			if err != nil {
				return nil, err
			}
			if ok {
				out = append(out, a.Name, text)
			}
		default:
			return nil, fmt.Errorf("docker: its argument %s is not supported, since it changes what the container can reach", printable.Quote(a.Name))
		}
	}
	return out, nil
}

func takesValue(name string) bool {
	return slices.Contains([]string{"-e", "--env", "-w", "--workdir", "-v", "--volume", "--mount"}, name)
}

var mounted = lazyregexp.New(`^(?:\{([A-Za-z0-9_.-]+)\}:[^,:]+(?::ro)?|type=bind,(?:src|source)=\{([A-Za-z0-9_.-]+)\},(?:dst|target|destination)=[^,]+(?:,readonly)?)$`)

// mountText returns a directory of this machine in a container. Its source is a variable
// that a person has set: an entry opens nothing by itself.
func (f *filler) mountText(a *Argument) (text string, ok bool, err error) {
	m := mounted.FindStringSubmatch(a.Value)
	if m == nil {
		return "", false, fmt.Errorf("docker: it mounts %s, and only a directory that you name may be mounted", printable.Quote(a.Value))
	}
	name := m[1] + m[2]
	f.said[name] = true
	switch source, set := f.o.Set[name]; {
	case !set && !a.IsRequired && !a.Variables[name].IsRequired:
		f.noteHint("%s is left out: it mounts a directory that you name by --set %s=DIR", a.Name, name)
		f.noteMentions(a.Variables)
		return "", false, nil
	case !set:
		return "", false, fmt.Errorf("docker: it mounts a directory of yours; name it by --set %s=DIR", name)
	case strings.ContainsAny(source, ",:"):
		return "", false, fmt.Errorf("docker: %s holds a comma or a colon, which docker would read", printable.Quote(source))
	}
	text, ok, err = f.findValue(a.Name, &a.Input)
	if signs := func(s string) int { return strings.Count(s, ",") + strings.Count(s, ":") }; signs(text) != signs(a.Value) {
		return "", false, fmt.Errorf("docker: it mounts %s, which is more than its entry shows", printable.Quote(text))
	}
	return text, ok, err
}

var headerName = lazyregexp.New("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

// fillRemote returns a server that runs elsewhere.
func (f *filler) fillRemote(t *Transport) error {
	if t.Type != "streamable-http" && t.Type != "sse" {
		return fmt.Errorf("it is spoken to by %s, and mcphub speaks streamable-http and sse", printable.Quote(t.Type))
	}
	if len(t.Headers) > maxParts {
		return fmt.Errorf("it has more than %d headers", maxParts)
	}
	address, ok, err := f.findValue("url", &Input{IsRequired: true, Value: t.URL, Variables: t.Variables})
	if err != nil {
		return err
	}
	if !ok {
		return errors.New("its address holds a variable that has no value")
	}
	bare := inputMark.ReplaceAllString(address, "x")
	u, err := url.Parse(bare)
	switch {
	case err != nil || u.Host == "" || u.User != nil || strings.ContainsAny(bare, " \\{}<>\""):
		return errors.New("that is no address of a server")
	case u.Scheme != "https":
		return errors.New("it is not reached by https")
	case isLoopback(u.Hostname()), strings.HasSuffix(strings.ToLower(u.Hostname()), ".localhost"):
		return errors.New("its address is this machine, where a registry knows of no server")
	case secretHost.MatchString(address):
		return errors.New("its host holds a value that is not said yet, and which host is spoken to has to be written: --set NAME=VALUE")
	}
	f.out.Entry = edit.Table{{Name: "url", Value: address}}
	if t.Type == "sse" {
		f.out.Entry = f.out.Entry.With("type", "sse")
	}
	var headers edit.Table
	for i := range t.Headers {
		h := &t.Headers[i]
		switch name := http.CanonicalHeaderKey(h.Name); {
		case !headerName.MatchString(h.Name):
			return fmt.Errorf("%s is no header", printable.Quote(h.Name))
		case slices.Contains([]string{"Host", "Connection", "Content-Length", "Transfer-Encoding", "Upgrade", "Te", "Trailer", "Proxy-Authorization"}, name) || strings.HasPrefix(name, "Mcp-"):
			return fmt.Errorf("the header %s is not an entry's to set", name)
		case headers.Has(h.Name):
			return fmt.Errorf("the header %s is there twice", name)
		}
		text, ok, err := f.findValue(h.Name, &h.Input)
		if err != nil {
			return err
		}
		if ok {
			headers = headers.With(h.Name, text)
		}
	}
	if len(headers) > 0 {
		f.out.Entry = f.out.Entry.With("headers", headers)
	}
	return nil
}
