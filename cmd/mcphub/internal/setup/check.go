package setup

import (
	"errors"
	"io"
	"maps"
	"slices"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/config"
)

// A CheckResult is what Check has found.
type CheckResult struct {
	Result                    // what would be served
	Whole    bool             // all of the configuration could be read, so there is a Result
	Problems []config.Problem // in the order of the file
	Bad      map[string]bool  // servers that cannot be served
}

// Count returns how many problems are as severe as that.
func (c *CheckResult) Count(sev config.Severity) (n int) {
	for _, p := range c.Problems {
		if p.Severity == sev {
			n++
		}
	}
	return n
}

// Check reads the configuration and looks, without starting anything, for all
// that is wrong with it. The error is for what is no problem of the file.
func (s *Source) Check(w io.Writer) (CheckResult, error) {
	c := CheckResult{Bad: map[string]bool{}}
	all := *s
	all.problem = func(p config.Problem) { c.Problems = append(c.Problems, p) }
	var err error
	c.Result, err = all.readReadable(w)
	c.Whole = err == nil
	left := all.takeProblems(err)
	for _, b := range c.Hub.Broken {
		c.Bad[b.Name] = true
	}
	if c.File != nil {
		found, bad := lintFile(c.File, &c.Hub)
		c.Problems = append(c.Problems, found...)
		maps.Copy(c.Bad, bad)
	}
	for i := range c.Problems {
		if run := c.Problems[i].Command; len(run) > 0 && run[0] == "mcphub" {
			c.Problems[i].Command = s.Command(run[1:]...)
		}
	}
	slices.SortStableFunc(c.Problems, config.ByPlace)
	return c, left
}

// readReadable reads the configuration. Beside an error there may be what could be
// read of the file all the same.
func (s *Source) readReadable(w io.Writer) (Result, error) {
	file, err := s.Load(w)
	if err == nil {
		return s.Build(file, w, zerolog.Nop())
	}
	var le *config.LoadError
	if !errors.As(err, &le) || le.Partial == nil {
		return Result{}, err
	}
	r := Result{File: le.Partial}
	err = errors.Join(err, addServers(le.Partial, &r.Hub))
	return r, err
}

// takeProblems reports the problems in an error, and returns the errors that are no problems.
func (s *Source) takeProblems(err error) error {
	var left []error
	for _, e := range Flatten(err) {
		var le *config.LoadError
		var p config.Problem
		switch {
		case errors.As(e, &le) && len(le.Errors) > 0:
			for _, p := range le.Errors {
				s.problem(p)
			}
		case errors.As(e, &p):
			s.problem(p)
		default:
			left = append(left, e)
		}
	}
	return errors.Join(left...)
}

// Flatten returns the errors that were joined to one, and the ones that were joined to these; none for nil.
func Flatten(err error) (all []error) {
	joined, many := err.(interface{ Unwrap() []error }) // this very level
	switch {
	case many:
		for _, e := range joined.Unwrap() {
			all = append(all, Flatten(e)...)
		}
	case err != nil:
		all = []error{err}
	}
	return all
}
