package setup

import (
	"fmt"
	"io"
	"os"

	"mcphub/internal/config"
	"mcphub/internal/exit"
)

// A Source says where the configuration of a hub comes from.
type Source struct {
	Version     string      // of this program
	Config      string      // --config: the file to read; "" for the one that is found
	Text        string      // a file that is read in the place of Config, as if it stood there; "": Config itself
	Roots       string      // --roots: directories separated by commas
	RootsGiven  func() bool // --roots was on the command line, empty or not
	Set         []string    // --set: keys of hub.json that count for more than the file, "roots.timeout=5s"
	BuiltinOnly bool        // the embedded server alone, whatever files there are

	problem func(config.Problem) // is told of problems that stop nothing; nil: they are printed
}

// Load reads hub.json, or takes the default where there is none, and puts the
// variables of the environment and then the flags over it.
func (s *Source) Load(w io.Writer) (*config.File, error) {
	if s.BuiltinOnly {
		return config.Default(), nil
	}
	path, unused := config.Find(s.Config, os.LookupEnv, exists)
	if unused != "" {
		fmt.Fprintf(w, "mcphub: %s is not read: a configuration starts programs, so it must be named (--config %s)\n", unused, unused)
	}
	flags, err := config.Flags(s.Set)
	if err != nil {
		return nil, &exit.Error{Code: exit.Usage, Err: err}
	}
	above := append(config.Environment(os.Environ()), flags...)
	var file *config.File
	var problems []config.Problem
	switch {
	case s.Text != "":
		if fi, err := os.Stat(s.Text); err == nil && !fi.Mode().IsRegular() { // a pipe would be read but once, or never
			return nil, exit.Errorf(exit.Usage, "%s is no regular file; name one that can be read again", s.Text)
		}
		file, problems, err = config.LoadAs(path, s.Text, os.LookupEnv, above...)
	case path == "":
		file, problems, err = config.WithoutFile(os.LookupEnv, above...)
	default:
		file, problems, err = config.Load(path, os.LookupEnv, above...)
	}
	for _, p := range problems {
		if err == nil || p.Severity != config.SeverityError { // the error says the others
			s.tell(w, p)
		}
	}
	if err != nil {
		home, _ := os.UserHomeDir() // without it nothing starts there
		return nil, &exit.Error{Code: exit.Config, Err: alsoWrong(err, home)}
	}
	return file, nil
}

// Path is the hub.json that is read; "" for the default.
func (s *Source) Path() string {
	if s.BuiltinOnly {
		return ""
	}
	path, _ := config.Find(s.Config, os.LookupEnv, exists)
	return path
}

func (s *Source) tell(w io.Writer, p config.Problem) {
	if s.problem != nil {
		s.problem(p)
		return
	}
	fmt.Fprintln(w, p.String())
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// AuditFolder reads hub.json for the folder of the audit log; "" where none is kept.
func (s *Source) AuditFolder(w io.Writer) (string, error) {
	file, err := s.Load(w)
	if err != nil {
		return "", err
	}
	home, _ := os.UserHomeDir() // without one, what needs it stays relative and is not found
	return auditFolder(file, home, os.Getenv), nil
}

// LogFolder reads hub.json for the folder of what servers write to standard
// error; "" where none is kept.
func (s *Source) LogFolder(w io.Writer) (string, error) {
	file, err := s.Load(w)
	if err != nil {
		return "", err
	}
	home, _ := os.UserHomeDir() // without one, what needs it stays relative and is not found
	return logFolder(file, home, os.Getenv), nil
}
