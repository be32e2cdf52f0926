package setup

import (
	"io"
	"os"

	"github.com/rs/zerolog"

	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// fallback takes the first of these that gives roots: the flag, the environment, hub.json, the
// project's folder.
func (s *Source) fallback(f *config.File, env func(string) (string, bool), dir string, log zerolog.Logger) (rootsmgr.Fallback, error) {
	in := rootsmgr.FallbackInput{Env: env, ConfigDir: f.Dir(), WorkDir: dir, FS: guard.OS{}}
	if s.BuiltinOnly {
		in.Env = nil
	}
	if s.Roots != "" || s.RootsGiven != nil && s.RootsGiven() { // an empty one is a mistake, not "no boundary"
		in.Flag = rootsmgr.SplitRoots(s.Roots)
	}
	for _, r := range f.Roots.Fallback {
		in.Config = append(in.Config, rootsmgr.Entry{URI: r.Path, Name: r.Name})
	}
	fb, skipped, err := rootsmgr.BuildFallback(in)
	if err != nil {
		return fb, &exit.Error{Code: exit.Config, Err: err}
	}
	for _, sk := range skipped {
		log.Warn().Str("root", sk.Raw).Str("reason", sk.Reason).Msg("a configured root is left out")
	}
	return fb, nil
}

// FallbackRoots are the roots of a client that gives none.
func (s *Source) FallbackRoots(w io.Writer, log zerolog.Logger) (*rootsmgr.Snapshot, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, exit.Errorf(exit.Failure, "the working directory is gone: %w", err)
	}
	file, err := s.Load(w)
	if err != nil {
		return nil, err
	}
	fb, err := s.fallback(file, os.LookupEnv, dir, log)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one a path that starts with ~ is refused
	judge, err := s.checker(file, home, nil)
	if err != nil {
		return nil, &exit.Error{Code: exit.Config, Err: policyErrors(file, err)}
	}
	return fb.Snapshot(s.FS(), 1, judge.Rules().WritableDirs()), nil
}
