package setup

import (
	"io"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
)

// readFallback takes the first of these that gives roots: the flag, the environment, hub.json, the
// project's folder. If none does, it adds the project that dir, the working directory of a client, lies in. client is the process of that client.
func (s *Source) readFallback(f *config.File, env func(string) (string, bool), dir string, client int, log zerolog.Logger) (rootsmgr.Fallback, error) {
	in := rootsmgr.FallbackInput{Env: env, ConfigDir: f.Dir(), WorkDir: dir, FS: guard.OS{}}
	if s.BuiltinOnly {
		in.Env = nil
	}
	if s.Roots != "" || s.RootsGiven != nil && s.RootsGiven() { // an empty one is a mistake, not "no boundary"
		in.Flag = rootsmgr.SplitRoots(s.Roots)
	}
	for _, r := range f.Roots.Fallback {
		in.Config = append(in.Config, rootsmgr.RootEntry{URI: r.Path, Name: r.Name})
	}
	fb, skipped, err := rootsmgr.BuildFallback(in)
	if err != nil {
		return fb, exit.ConfigErrorf("%w", err)
	}
	for _, sk := range skipped {
		log.Warn().Str("root", sk.Raw).Str("reason", sk.Reason).Msg("a configured root is left out")
	}
	if fb.IsEmpty() && f.Roots.When.Unsupported == keys.WhenProject {
		fb.Guess = guessProject(dir, env, client, func(dir string) bool {
			if !s.Consent.Keeps() {
				return false
			}
			_, could := s.writtenFolder(dir)
			return could
		})
	}
	return fb, nil
}

// FallbackRoots returns the roots of a client that gives none.
func (s *Source) FallbackRoots(w io.Writer, log zerolog.Logger) (*rootsmgr.Snapshot, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, exit.Errorf(exit.Failure, "the working directory is gone: %w", err)
	}
	file, err := s.Load(w)
	if err != nil {
		return nil, err
	}
	fb, err := s.readFallback(file, os.LookupEnv, dir, os.Getppid(), log)
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // without one a path that starts with ~ is refused
	judge, err := s.buildChecker(file, home, nil)
	if err != nil {
		return nil, exit.ConfigErrorf("%w", policyErrors(file, err))
	}
	return fb.Snapshot(s.FS(), 1, judge.Rules().WritableDirs()), nil
}

// rootsMapping returns which directories here the roots of clients mean. In WSL, Windows names them otherwise.
func rootsMapping(f *config.File, env func(string) (string, bool), read func(string) ([]byte, error)) rootsmgr.Mapping {
	m := rootsmgr.Mapping{WSL: wslDistribution(env, read)}
	home, _ := os.UserHomeDir() // without one, what starts with ~ is not found
	for _, from := range slices.Sorted(maps.Keys(f.Roots.Map)) {
		m.Dirs = append(m.Dirs, rootsmgr.MappedDir{From: from, To: resolvePath(f, f.Roots.Map[from], home, false)})
	}
	return m
}

// wslDistribution returns the distribution that this process runs in. A variable alone does not make one: the kernel is Microsoft's there.
func wslDistribution(env func(string) (string, bool), read func(string) ([]byte, error)) rootsmgr.WSL {
	distro, _ := env("WSL_DISTRO_NAME")
	if distro == "" {
		return rootsmgr.WSL{}
	}
	kernel, err := read("/proc/sys/kernel/osrelease")
	if err != nil || !strings.Contains(strings.ToLower(string(kernel)), "microsoft") {
		return rootsmgr.WSL{}
	}
	w := rootsmgr.WSL{Distro: distro, Drives: "/mnt/"}
	conf, err := read("/etc/wsl.conf")
	if err != nil {
		return w // most have none
	}
	section := ""
	for line := range strings.Lines(string(conf)) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		if strings.HasPrefix(line, "[") {
			section = strings.ToLower(strings.Trim(strings.TrimSpace(line), "[]"))
			continue
		}
		key, value, _ := strings.Cut(line, "=")
		value = strings.Trim(strings.TrimSpace(value), `"`)
		switch strings.ToLower(section + "." + strings.TrimSpace(key)) {
		case "automount.root":
			if path.IsAbs(value) {
				w.Drives = strings.TrimSuffix(path.Clean(value), "/") + "/"
			}
		case "automount.enabled":
			if strings.EqualFold(value, "false") {
				return rootsmgr.WSL{Distro: distro}
			}
		}
	}
	return w
}
