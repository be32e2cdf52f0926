package setup

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/jsonc"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/loginpage"
	"mcphub/internal/printable"
	"mcphub/rootsmgr/guard"
)

// A Source is the origin of the configuration of a hub.
type Source struct {
	Version     string          // of this program
	Config      string          // --config: the file to read; "" for the one that is found
	Text        string          // a file that is read instead of Config, as if it stood there; "": Config itself
	Bytes       []byte          // text that counts instead of Config's, which need not be there; nil: none
	Roots       string          // --roots: directories separated by commas
	RootsGiven  func() bool     // --roots was on the command line, empty or not
	Toolsets    []string        // --toolset: the names of toolsets; nil: nothing
	Set         []string        // --set: keys of hub.json that count for more than the file, "roots.timeout=5s"
	NoAuth      bool            // --no-auth: no one who calls over HTTP needs a token
	WithoutLock bool            // nothing is withheld by hub.lock: it is about to be compared, or written again
	BuiltinOnly bool            // the embedded server alone, whatever files there are
	Desk        *loginpage.Desk // serves the pages on which people over HTTP log in; nil: there are none
	Shares      bool            // several clients may share this hub, and servers that keep no part of a session

	Consent   *consent.Store // what a person has accepted of hub.json; nil: the file counts as it is
	Reach     *consent.Reach // what servers of this process may write; nil: it is not on record
	AcceptErr error          // why it could not be kept what was accepted

	problem func(config.Problem) // is told about problems that stop nothing; nil: they are printed
}

// Load reads hub.json, or takes the default if there is none, and puts the
// variables of the environment and then the flags over it.
func (s *Source) Load(w io.Writer) (*config.File, error) {
	if s.BuiltinOnly {
		return config.Default(), nil
	}
	path, unused := hubfile.Find(s.Config, os.LookupEnv, fileExists)
	if unused != "" {
		fmt.Fprintf(w, "mcphub: %s is not read: a configuration starts programs, so it must be named (--config %s)\n", unused, unused)
	}
	above, err := s.overridingSettings(os.Environ())
	if err != nil {
		return nil, err
	}
	var file *config.File
	var problems []config.Problem
	switch {
	case s.Bytes != nil:
		trail, err := hubfile.Follow(s.Config)
		if err != nil {
			return nil, exit.ConfigErrorf("%w", err)
		}
		return s.loadText(w, s.Config, s.Bytes, trail)
	case s.Text != "":
		if fi, err := os.Stat(s.Text); err == nil && !fi.Mode().IsRegular() { // a pipe would be read but once, or never
			return nil, exit.UsageErrorf("%s is no regular file; name one that can be read again", s.Text)
		}
		file, problems, err = config.LoadAs(path, s.Text, os.LookupEnv, above...)
	case path == "":
		file, problems, err = config.WithoutFile(os.LookupEnv, above...)
	default:
		file, problems, err = config.Load(path, os.LookupEnv, above...)
	}
	return s.reportLoaded(w, file, problems, err)
}

// Use has this Source read those of some servers as enabled that hub.json disables, and returns their names. What is wrong with the file is
// left to the next reading.
func (s *Source) Use(servers []string) (names []string) {
	file, err := s.Load(io.Discard)
	if err != nil {
		return nil
	}
	for i := range file.Servers {
		if one := &file.Servers[i]; one.Disabled && slices.Contains(servers, one.Name) {
			names = append(names, one.Name)
			s.Set = append(s.Set, jsonc.FormatKey([]string{"mcpServers", one.Key, "disabled"})+"=false")
		}
	}
	return names
}

// ServersOf returns the servers to which a tool of this name belongs, by the longest prefix, whether or not they are disabled.
func (s *Source) ServersOf(tool string) (names []string) {
	file, err := s.Load(io.Discard)
	if err != nil {
		return nil
	}
	longest := 1
	for i := range file.Servers {
		one := &file.Servers[i]
		prefix := prefixOf(file, one)
		if !strings.HasPrefix(tool, prefix) || len(prefix) < longest {
			continue
		}
		if len(prefix) > longest {
			longest, names = len(prefix), nil
		}
		names = append(names, one.Name)
	}
	return names
}

// overridingSettings returns the settings that count for more than the file.
func (s *Source) overridingSettings(environ []string) ([]config.Setting, error) {
	flags, err := config.Flags(s.Set)
	if err != nil {
		return nil, &exit.Error{Code: exit.Usage, Err: err}
	}
	if s.NoAuth {
		auth, err := config.Flags([]string{"http.auth=" + keys.AuthNone})
		if err != nil {
			return nil, err
		}
		auth[0].From = "--no-auth"
		flags = append(flags, auth...)
	}
	return append(config.Environment(environ), flags...), nil
}

// loadText works like Load as it would be if hub.json read text.
func (s *Source) loadText(w io.Writer, path string, text []byte, trail hubfile.Trail) (*config.File, error) {
	above, err := s.overridingSettings(os.Environ())
	if err != nil {
		return nil, err
	}
	file, problems, err := config.LoadText(path, text, trail, os.LookupEnv, above...)
	return s.reportLoaded(w, file, problems, err)
}

// reportLoaded returns what is wrong with a file.
func (s *Source) reportLoaded(w io.Writer, file *config.File, problems []config.Problem, err error) (*config.File, error) {
	for _, p := range problems {
		if err == nil || p.Severity != config.SeverityError { // the error says the others
			s.reportProblem(w, p)
		}
	}
	if err != nil {
		home, _ := os.UserHomeDir() // without it nothing starts there
		return nil, exit.ConfigErrorf("%w", withPolicyErrors(err, home))
	}
	return file, nil
}

// Path returns the hub.json that is read; "" for the default.
func (s *Source) Path() string {
	if s.BuiltinOnly {
		return ""
	}
	path, _ := hubfile.Find(s.Config, os.LookupEnv, fileExists)
	return path
}

// CommandLine returns a command line of this program that is about the same hub.json,
// to be pasted into a shell.
func (s *Source) CommandLine(words ...string) string {
	return printable.CommandLine(s.Command(words...))
}

// Command works like CommandLine by its words.
func (s *Source) Command(words ...string) []string {
	all := append([]string{"mcphub"}, words...)
	if s.Config != "" {
		at := len(all)
		if ends := slices.Index(all, "--"); ends >= 0 { // what follows is no flag
			at = ends
		}
		all = slices.Insert(all, at, "--config", s.Config)
	}
	return all
}

func (s *Source) reportProblem(w io.Writer, p config.Problem) {
	if s.problem != nil {
		s.problem(p)
		return
	}
	fmt.Fprintln(w, p.String())
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// FS returns the file system of this machine. It knows which links a server of any hub could have made.
func (s *Source) FS() guard.FS {
	if s.Consent == nil {
		return guard.OS{}
	}
	return guard.OS{Provenance: s.Consent}
}

// Keep puts on record that a hub runs, and which process it serves. done lets go of that.
func (s *Source) Keep(client consent.ClientProcess, log zerolog.Logger) (done func()) {
	if s.Reach == nil {
		return func() {}
	}
	if err := s.Reach.Serves(client); err != nil {
		log.Error().Err(err).Msg("where servers of this hub may write cannot be put on record for other hubs, so none that may write anywhere runs until that is mended")
	}
	if s.AcceptErr != nil {
		log.Warn().Err(s.AcceptErr).Msg("it cannot be kept that hub.json was accepted; the next hub asks again where a server could have written it")
	}
	return s.Reach.Close
}
