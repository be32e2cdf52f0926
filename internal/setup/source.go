package setup

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/rs/zerolog"

	"mcphub/hub"
	"mcphub/internal/config"
	"mcphub/internal/exit"
)

// A Source says where the configuration of a hub comes from.
type Source struct {
	Version     string      // of this program
	Config      string      // --config: the file to read; "" for the one that is found
	Roots       string      // --roots: directories separated by commas
	RootsGiven  func() bool // --roots was on the command line, empty or not
	BuiltinOnly bool        // the embedded server alone, whatever files there are

	problem func(config.Problem) // is told of problems that stop nothing; nil: they are printed
}

// A Result is what one reading of hub.json came to.
type Result struct {
	Hub   hub.Config
	File  *config.File
	Logs  string // folder where the children's stderr is kept; "" where it is not
	Audit string // folder where decisions are recorded; "" where they are not
}

// Read reads the configuration and builds everything a Hub needs. What is
// wrong with the file is printed to w; the error is for what cannot go on.
func (s *Source) Read(w io.Writer, log zerolog.Logger) (Result, error) {
	file, err := s.Load(w)
	if err != nil {
		return Result{}, printed(w, err)
	}
	r, err := s.Build(file, w, log)
	return r, printed(w, err)
}

// Load reads hub.json, or gives the default where there is none.
func (s *Source) Load(w io.Writer) (*config.File, error) {
	if s.BuiltinOnly {
		return config.Default(), nil
	}
	path, unused := config.Find(s.Config, os.LookupEnv, exists)
	if unused != "" {
		fmt.Fprintf(w, "mcphub: %s is not read: a configuration starts programs, so it must be named (--config %s)\n", unused, unused)
	}
	if path == "" {
		return config.Default(), nil
	}
	file, problems, err := config.Load(path, os.LookupEnv)
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

// printed writes all errors of a configuration but the first, which the error
// itself says.
func printed(w io.Writer, err error) error {
	var le *config.LoadError
	if errors.As(err, &le) && len(le.Errors) > 1 {
		for _, p := range le.Errors[1:] {
			fmt.Fprintln(w, p.String())
		}
	}
	return err
}
