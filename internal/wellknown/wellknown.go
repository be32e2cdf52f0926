package wellknown

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcphub/internal/commandline"
)

// A Server is what is known of one server.
type Server struct {
	Name    string
	Comment string `json:"//"`

	Servers  []string // what it calls itself (serverInfo.name), in any letter case
	Packages []string // of npm or PyPI, without a version
	Images   []string // of containers, without a tag
	Commands []string // names of its command or script

	Stateless   bool            // it keeps nothing of a session between calls, but for roots, and asks clients nothing: sessions with the same roots may share it
	RootsProbe  string          // the tool that lists the roots applied; "": none
	Directories bool            // its plain arguments are the directories that it serves
	Kernel      *Kernel         // nil: it needs no more than every confined child
	Arguments   json.RawMessage // of its tools, as validate/declare reads them; nil: nothing is known of them
}

// Kernel is what a confined server needs beside what every confined child has. It gives no file that a program outside
// the sandbox would run.
//
// A path is absolute or begins with ~/, with $CACHE/ (the user's cache folder) or with $NAME (a variable of the child,
// which may hold a list). Of several with a bar between them the first counts that is set.
type Kernel struct {
	ByName      bool     // the name of its command is enough, and need not lie in its package
	Tools       []string // programs on PATH that it runs: their installations
	Read        []string // to read, and to execute
	Write       []string // folders for what it keeps; one that is missing is made
	Cache       bool     // XDG_CACHE_HOME stays the user's: it looks there for what it has installed
	Sockets     bool     // it needs unix sockets
	Terminals   bool     // programs that it runs make terminals
	Proc        bool     // it writes below /proc; not if the hub runs as root
	KeepRunning bool     // it keeps state in its process: it is not started again for a wider boundary
	Memory      bool     // it keeps one file beside its program, unless MEMORY_FILE_PATH says otherwise
	Repository  bool     // it reads the repository that a root lies in
	Cannot      string   // what it cannot do so, for documents
}

//go:embed profiles.json
var profiles []byte

// All returns all servers, by name. The caller changes none.
var All = sync.OnceValue(func() []Server {
	list, err := parseProfiles(profiles)
	if err != nil {
		panic("wellknown: profiles.json is broken: " + err.Error()) // a test parses it
	}
	return list
})

// parseProfiles reads the file. A place of it stands for the paths that it lists.
func parseProfiles(raw []byte) ([]Server, error) {
	var file struct {
		Places  map[string][]string
		Servers []Server
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		return nil, err
	}
	for i := range file.Servers {
		k := file.Servers[i].Kernel
		if k == nil {
			continue
		}
		var read []string
		for _, place := range k.Read {
			switch list, known := file.Places[place]; {
			case known:
				read = append(read, list...)
			case strings.HasPrefix(place, "@"):
				return nil, fmt.Errorf("%s: no places are called %s", file.Servers[i].Name, place)
			default:
				read = append(read, place)
			}
		}
		k.Read = read
	}
	return file.Servers, nil
}

// BySelf returns the server that calls itself so; nil if none is known.
func BySelf(name string) *Server {
	return findServer(func(s *Server) bool {
		return slices.ContainsFunc(s.Servers, func(own string) bool { return strings.EqualFold(own, name) })
	})
}

func findServer(is func(*Server) bool) *Server {
	all := All()
	for i := range all { // a Server is too large to be copied for each question
		if is(&all[i]) {
			return &all[i]
		}
	}
	return nil
}

// ByLine returns the server that a command line starts, with one of these properties; nil if none is known.
func ByLine(line commandline.Started, has func(*Server) bool) *Server {
	for _, name := range line.Names {
		if s, _ := ByName(name); s != nil && has(s) {
			return s
		}
	}
	return nil
}

// ByName returns the server of a name; nil if none is known. packaged reports that its package is known, and not only the name of
// a command, which any program may have.
func ByName(name commandline.Name) (s *Server, packaged bool) {
	word := name.Text
	switch name.Kind {
	case commandline.Fetched:
		return byPackage(word), true
	case commandline.Image:
		return findServer(func(s *Server) bool { return slices.Contains(s.Images, word) }), true
	case commandline.Module:
		top, _, _ := strings.Cut(word, ".")
		word = strings.ReplaceAll(top, "_", "-")
	case commandline.Command, commandline.File:
		if pkg := commandline.PackageOf(word); pkg != "" {
			return byPackage(pkg), true
		}
	}
	word = commandline.BaseName(word)
	return findServer(func(s *Server) bool { return slices.Contains(s.Commands, word) }), false
}

func byPackage(name string) *Server {
	return findServer(func(s *Server) bool { return slices.Contains(s.Packages, name) })
}
