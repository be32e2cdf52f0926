package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"mcphub/children"
	"mcphub/hub"
	"mcphub/internal/config"
	"mcphub/internal/exit"
	"mcphub/rootsmgr"
	"mcphub/validate"
)

// sources says where a hub's configuration comes from. It is the only place
// where config.File and hub.Config meet.
type sources struct {
	config      string
	roots       string
	rootsGiven  func() bool // --roots was on the command line, empty or not
	builtinOnly bool        // the embedded server alone, whatever files there are
	found       string      // the file that was read; "" where there was none
	logs        string      // where the children's stderr is to be kept; "" where it is not
	audit       string      // where decisions are to be recorded; "" where they are not
	file        *config.File
	problems    []config.Problem // that the last reading told of
	hush        bool             // they are kept and not written
}

// tell writes a problem to w, and keeps it.
func (s *sources) tell(w io.Writer, p config.Problem) {
	s.problems = append(s.problems, p)
	if !s.hush {
		fmt.Fprintln(w, p.String())
	}
}

func (s *sources) register(cmd *cobra.Command) {
	cmd.Flags().StringVarP(&s.config, "config", "c", "", "hub.json to read (default: $MCPHUB_CONFIG, then mcphub/hub.json in the user's configuration folder)")
	cmd.Flags().StringVar(&s.roots, "roots", "", "directories in scope for a client that gives none, separated by commas; patterns such as ~/work/* too")
	s.rootsGiven = func() bool { return cmd.Flags().Changed("roots") }
}

// hubConfig reads the configuration and builds everything a Hub needs. What is
// wrong with the file is printed to w; the error is for what cannot go on.
func (s *sources) hubConfig(w io.Writer, log zerolog.Logger) (hub.Config, error) {
	file, err := s.load(w)
	if err != nil {
		return hub.Config{}, printed(w, err)
	}
	s.file = file
	cfg, err := s.wire(file, w, log)
	return cfg, printed(w, err)
}

// wire turns a configuration that was read into what a Hub is made of.
func (s *sources) wire(file *config.File, w io.Writer, log zerolog.Logger) (hub.Config, error) {
	for _, p := range withoutEffect(file) {
		s.tell(w, p)
	}
	home, err := os.UserHomeDir()
	s.logs, s.audit = logFolder(file, home, os.Getenv), auditFolder(file, home, os.Getenv)
	if err != nil {
		log.Warn().Err(err).Msg("the home folder is unknown; paths that start with ~ are refused")
	}
	cfg := hub.Config{
		Version: buildVersion(),
		Names:   hub.Names{Separator: file.Names.Separator, Max: file.Names.Max},
		Roots: rootsmgr.Settings{
			Timeout: file.Roots.Timeout, Debounce: file.Roots.Debounce, Stale: file.Roots.Stale,
			When: rootsmgr.When{Unsupported: file.Roots.When.Unsupported, Empty: file.Roots.When.Empty, Failed: file.Roots.When.Failed},
		},
		Limits:   hub.Limits{Frame: int(file.Limits.Frame), ID: int(file.Limits.ID), Definitions: int(file.Limits.Definitions), Calls: file.Limits.Calls, Starting: file.Limits.Starting, Children: file.Limits.Children},
		Approval: hub.Approval{Timeout: file.Approval.Timeout, Terminal: file.Approval.Local == "tty" && runtime.GOOS != "windows"},
		Log:      log,
	}
	if err := s.entries(file, &cfg); err != nil {
		return cfg, err
	}
	var wrong [3]error // one reading tells everything
	cfg.Audit, wrong[0] = auditSettings(file, s.audit)
	cfg.Fallback, wrong[1] = s.fallback(file, cfg.Dir, log)
	var own []string // the hub's folders, which no call may touch (V10)
	if cfg.Cache != "" {
		own = append(own, filepath.Dir(cfg.Cache))
	}
	for _, p := range doubtful(file, &cfg) {
		s.tell(w, p)
	}
	if cfg.Checker, err = checker(file, home, own); err != nil {
		wrong[2] = &exit.Error{Code: exit.Config, Err: policyErrors(file, err)}
	}
	return cfg, errors.Join(wrong[:]...)
}

// entries makes the children of the entries of a file, and what they are started in.
func (s *sources) entries(file *config.File, cfg *hub.Config) error {
	dir, err := os.Getwd()
	if err != nil {
		return exit.Errorf(exit.Failure, "the working directory is gone: %w", err)
	}
	cfg.Environ, cfg.Dir = os.Environ(), dir
	cfg.Home, _ = os.UserHomeDir() // who calls has said where it is unknown
	if cache := children.CacheFolder(cfg.Environ, cfg.Home); cache != "" {
		cfg.Cache = filepath.Join(cache, "catalogue")
	}
	for i := range file.Servers {
		if err := addServer(cfg, file, &file.Servers[i]); err != nil {
			return err
		}
	}
	return nil
}

// load reads hub.json, or gives the default where there is none.
func (s *sources) load(w io.Writer) (*config.File, error) {
	s.problems = nil
	if s.builtinOnly {
		return config.Default(), nil
	}
	path, unused := config.Find(s.config, os.LookupEnv, exists)
	if unused != "" {
		fmt.Fprintf(w, "mcphub: %s is not read: a configuration starts programs, so it must be named (--config %s)\n", unused, unused)
	}
	s.found = path
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
		home, _ := os.UserHomeDir() // without it nothing begins there
		return nil, &exit.Error{Code: exit.Config, Err: alsoWrong(err, home)}
	}
	return file, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// withoutEffect lists settings that are read and change nothing in this
// version, and whose loss opens nothing.
func withoutEffect(f *config.File) []config.Problem {
	var out []config.Problem
	for i := range f.Policy.Rules {
		r := &f.Policy.Rules[i]
		if r.Serve && r.Then == config.ThenEscalate && (r.If.Paths == nil || r.If.Paths.Within == "") {
			p := f.At("policy", "rules", strconv.Itoa(i), "serve")
			p.Severity, p.Text, p.Hint = config.SeverityWarning, "has no effect: the rule names no directory", `name one under "within"`
			out = append(out, p)
		}
	}
	note := func(text string, path ...string) {
		p := f.At(path...)
		p.Severity, p.Text = config.SeverityWarning, text+" in this version: the setting has no effect"
		out = append(out, p)
	}
	def := config.Default()
	if f.Expose != def.Expose {
		note("every tool is listed", "expose")
	}
	if f.Approval.Local != def.Approval.Local && runtime.GOOS == "windows" {
		note("mcphub approve needs a terminal of Unix", "approval", "local")
	}
	return out
}

// addServer turns one entry into a child, or into a broken one with a reason.
func addServer(cfg *hub.Config, file *config.File, s *config.Server) error {
	prefix := s.Name + file.Names.Separator
	if s.Prefix != nil {
		prefix = *s.Prefix
	}
	broken := func(format string, args ...any) {
		cfg.Broken = append(cfg.Broken, hub.Broken{Name: s.Name, Prefix: prefix, Reason: fmt.Sprintf(format, args...)})
	}
	switch {
	case s.Disabled:
		cfg.Disabled = append(cfg.Disabled, s.Name)
		return nil
	case s.Err != nil:
		broken("%s", s.Err.String())
		return nil
	}
	spec := children.Spec{
		Name: s.Name, Command: fromFile(file, s.Command, cfg.Home, true), Args: s.Args, Env: s.Env, Inherit: s.Inherit,
		Cwd: fromFile(file, s.Cwd, cfg.Home, false), Local: s.Local, Roots: rootsModes[s.Roots], Share: shares[s.Share], Start: starts[s.Start], Era: eras[s.Era],
		StartTimeout: s.Timeout.Start, CallTimeout: s.Timeout.Call, StopTimeout: s.Timeout.Stop,
		FrameLimit: int(file.Limits.Frame), IDLimit: int(file.Limits.ID),
		URL: s.URL, Headers: s.Headers,
	}
	if s.URL != "" {
		spec.Transport = children.Transport(s.Type)
	}
	if s.Builtin != "" {
		exe, err := os.Executable()
		if err != nil {
			return exit.Errorf(exit.Failure, "the program's own file is unknown, so the embedded server cannot be started: %w", err)
		}
		spec.Command, spec.Args = exe, append([]string{s.Builtin}, s.Args...)
		spec.Directories = true
		spec.Era = children.EraLegacy // it keeps the roots that it was told, and is told of changes
	}
	switch {
	case s.Timeout.Idle != nil:
		spec.IdleTimeout = *s.Timeout.Idle
	case spec.Share != children.ShareSession:
		spec.IdleTimeout = sharedIdle
	}
	if profile, ok := validate.ProfileFor("", s.Command, s.Args); ok {
		spec.Probe = profile.RootsProbe
	}
	cfg.Children = append(cfg.Children, hub.Child{Spec: spec, Prefix: prefix, Include: s.Tools.Include, Exclude: s.Tools.Exclude})
	return nil
}

// sharedIdle is how long a shared server may be idle unless hub.json says
// otherwise (C6); a session's own is never stopped, its state is the user's.
const sharedIdle = 15 * time.Minute

// rootsModes, shares, starts and eras translate hub.json's words; config has refused others.
var (
	rootsModes = map[string]children.RootsMode{"args": children.RootsArgs, "list": children.RootsList, "none": children.RootsNone}
	shares     = map[string]children.Share{"roots": children.ShareRoots, "all": children.ShareAll}
	starts     = map[string]children.StartMode{"eager": children.StartEager}
	eras       = map[string]children.Era{"legacy": children.EraLegacy, "modern": children.EraModern}
)

// fromFile makes a path of hub.json absolute: relative ones start at its
// folder, ~ is the home folder. A bare command name is looked up later, and a
// path that begins with a placeholder is complete once that is expanded.
func fromFile(f *config.File, path, home string, command bool) string {
	switch {
	case path == "" || filepath.IsAbs(path) || strings.HasPrefix(path, "${"):
		return path
	case path == "~" || strings.HasPrefix(path, "~/"):
		return filepath.Join(home, strings.TrimPrefix(path, "~"))
	case command && !strings.ContainsAny(path, `/\`):
		return path
	}
	return filepath.Join(f.Dir(), path)
}

// checker builds the judge of all calls; own are the hub's own folders.
func checker(f *config.File, home string, own []string) (*validate.Checker, error) {
	cfg := validate.Config{
		FS: rootsmgr.OS{}, Home: home, Depth: f.Limits.Depth,
		Resources: f.Roots.Resources, ClientResources: f.Roots.ClientResources,
	}
	var wrong error
	cfg.Policy, wrong = policy(f, home)
	for i := range f.Servers {
		s := &f.Servers[i]
		c := validate.ChildConfig{Name: s.Name, Command: s.Command, CommandArgs: s.Args, URL: s.URL, Inherit: s.Inherit, Args: map[string]map[string]validate.ArgRule{}}
		if s.Paths.Mode != "" {
			mode, err := validate.ParseMode(s.Paths.Mode)
			if err != nil {
				return nil, err
			}
			c.Mode, c.ModeSet = mode, true
		}
		for tool, rules := range s.Paths.Args {
			c.Args[tool] = map[string]validate.ArgRule{}
			for pointer, r := range rules {
				role, err := validate.ParseRole(r.Role)
				if err != nil {
					return nil, err
				}
				c.Args[tool][pointer] = validate.ArgRule{Role: role, Base: r.Base}
			}
		}
		cfg.Children = append(cfg.Children, c)
	}
	cfg.Protected = append(own, ownFolders(f, home, os.Getenv)...)
	cfg.Protected = append(cfg.Protected, f.Trail.Names...)
	if dir := f.Audit.Dir; dir != "" && !f.Audit.Off() {
		cfg.Protected = append(cfg.Protected, fromFile(f, dir, home, false))
	}
	c, err := validate.NewChecker(cfg)
	if err = errors.Join(wrong, err); err != nil {
		return nil, err
	}
	return c, nil
}

// fallback is the chain of R10: the flag, the environment, hub.json, the
// project's folder.
func (s *sources) fallback(f *config.File, dir string, log zerolog.Logger) (rootsmgr.Fallback, error) {
	in := rootsmgr.FallbackInput{Env: os.LookupEnv, ConfigDir: f.Dir(), WorkDir: dir, FS: rootsmgr.OS{}}
	if s.builtinOnly {
		in.Env = nil
	}
	if s.roots != "" || s.rootsGiven != nil && s.rootsGiven() { // an empty one is a mistake, not "no boundary"
		in.Flag = rootsmgr.SplitRoots(s.roots)
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
