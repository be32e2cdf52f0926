package registry

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mcphub/internal/lazyregexp"
	"mcphub/internal/printable"
)

// Status is the place of a server in its life.
type Status string

// The statuses. One that is not known counts as active: it is shown.
const (
	StatusActive     Status = "active"
	StatusDeprecated Status = "deprecated"
	StatusDeleted    Status = "deleted"
)

// A Server is one entry of a registry, in one version.
type Server struct {
	Name        string `json:"name"` // such as io.github.user/weather
	Title       string `json:"title,omitempty"`
	Description string `json:"description"`
	Version     string `json:"version"`
	Repository  struct {
		URL string `json:"url"`
	} `json:"repository"`
	Packages []Package   `json:"packages,omitempty"`
	Remotes  []Transport `json:"remotes,omitempty"`

	Status        Status `json:"-"`
	StatusMessage string `json:"-"`
}

// A Package is one way to run a server on this machine.
type Package struct {
	RegistryType         string     `json:"registryType"`
	RegistryBaseURL      string     `json:"registryBaseUrl"`
	Identifier           string     `json:"identifier"`
	Version              string     `json:"version"`
	FileSHA256           string     `json:"fileSha256"`
	RuntimeHint          string     `json:"runtimeHint"`
	Transport            Transport  `json:"transport"`
	RuntimeArguments     []Argument `json:"runtimeArguments"`
	PackageArguments     []Argument `json:"packageArguments"`
	EnvironmentVariables []KeyValue `json:"environmentVariables"`
}

// A Transport describes how a server is spoken to. A remote one has an address.
type Transport struct {
	Type      string           `json:"type"` // stdio, streamable-http, sse
	URL       string           `json:"url"`
	Headers   []KeyValue       `json:"headers"`
	Variables map[string]Input `json:"variables"`
}

// An Input is a value that an entry fixes, proposes or asks for.
type Input struct {
	Description string           `json:"description"`
	IsRequired  bool             `json:"isRequired"`
	IsSecret    bool             `json:"isSecret"`
	Format      string           `json:"format"` // "", string, number, boolean, filepath
	Value       string           `json:"value"`  // fixed; {NAME} in it stands for a variable
	Default     string           `json:"default"`
	Placeholder string           `json:"placeholder"`
	Choices     []string         `json:"choices"`
	Variables   map[string]Input `json:"variables"`
}

// A KeyValue is a variable of the environment, or a header.
type KeyValue struct {
	Name string `json:"name"`
	Input
}

// An Argument is one argument of a command line: positional, or named.
type Argument struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	ValueHint string `json:"valueHint"`
	Input
}

var (
	serverName = lazyregexp.New(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)
	aRange     = lazyregexp.New(`^[\^~<>=]|[\s*|]|(^|\.)[xX](\.|$)`)
)

// IsName reports whether a text is the name of a server in a registry: a reversed domain,
// a slash, and a name.
func IsName(name string) bool {
	return len(name) >= 3 && len(name) <= 200 && serverName.MatchString(name)
}

// readServer reads what a registry says about one server. The error reports why it is not valid.
func readServer(raw []byte) (*Server, error) {
	var answer struct {
		Server *Server `json:"server"`
		Meta   struct {
			Official struct {
				Status        Status `json:"status"`
				StatusMessage string `json:"statusMessage"`
			} `json:"io.modelcontextprotocol.registry/official"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, err
	}
	s := answer.Server
	if s == nil {
		return nil, errors.New("there is no server in it")
	}
	s.Status, s.StatusMessage = answer.Meta.Official.Status, answer.Meta.Official.StatusMessage
	return s, s.checkRules()
}

// checkRules holds a server to the rules of server.json, as far as they are about itself and not
// about one way to run it.
func (s *Server) checkRules() error {
	switch {
	case s.Name == "":
		return errors.New("it has no name")
	case !IsName(s.Name):
		return fmt.Errorf("%s is no name of a server", printable.Quote(s.Name))
	case s.Description == "":
		return errors.New("it has no description")
	case utf8.RuneCountInString(s.Description) > 100:
		return errors.New("its description is longer than 100 characters")
	case utf8.RuneCountInString(s.Title) > 100:
		return errors.New("its title is longer than 100 characters")
	case s.Version == "" || len(s.Version) > 255 || s.Version == "latest" || aRange.MatchString(s.Version):
		return fmt.Errorf("%s is no version of it", printable.Quote(s.Version))
	}
	return nil
}

// hasWords reports that each word stands in the name, title or description.
func (s *Server) hasWords(words []string) bool {
	text := strings.ToLower(s.Name + "\n" + s.Title + "\n" + s.Description)
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}

// Ways names the ways to run a server that its entry has, in their order: the kind of each
// package, and remote. They are the registry's words.
func (s *Server) Ways() []string {
	var out []string
	for _, p := range s.Packages {
		out = append(out, p.RegistryType)
	}
	if len(s.Remotes) > 0 {
		out = append(out, Remote)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
