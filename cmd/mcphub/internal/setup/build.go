package setup

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/loginpage"
	"mcphub/cmd/mcphub/internal/oauth/logins"
	"mcphub/cmd/mcphub/internal/secrets"
	"mcphub/hub"
	"mcphub/hub/approval"
	"mcphub/hub/catalog"
	"mcphub/internal/callertoken"
	"mcphub/internal/printable"
	"mcphub/rootsmgr"
)

// A Result is hub.json, turned into what a Hub is made of.
type Result struct {
	Hub     hub.Config
	Logins  *logins.Store
	Desk    *loginpage.Desk // serves the pages on which people over HTTP log in; nil: there are none
	File    *config.File
	Logs    string        // folder where the children's stderr is kept; "" if it is not
	Waiting string        // why this is not hub.json as it reads; "": it is
	Audit   string        // folder where decisions are recorded; "" if they are not
	Keep    config.Keep   // how much of them
	Syslog  config.Syslog // where they are sent
}

// Read reads the configuration, as far as it is accepted, and builds everything a Hub
// needs. It prints to w what is wrong with the file. The error is for what keeps a hub from
// starting.
func (s *Source) Read(w io.Writer, log zerolog.Logger) (Result, error) {
	st, err := s.Accepted(w, nil)
	if err != nil {
		return Result{}, printErrors(w, err)
	}
	if st.Waiting != "" {
		fmt.Fprintln(w, "mcphub: "+printable.Clean(st.forTerminal()))
	}
	r, err := s.Build(st.File, w, log)
	if err == nil {
		err = s.CheckToolsets(&st, r.Hub.Toolsets)
	}
	r.Waiting = st.Waiting
	return r, printErrors(w, err)
}

// Build turns a configuration that was read into what a Hub is made of.
func (s *Source) Build(file *config.File, w io.Writer, log zerolog.Logger) (Result, error) {
	if refused := cannotAnswer(file, runtime.GOOS); refused != nil {
		return Result{}, exit.ConfigErrorf("%w", &config.LoadError{Path: file.Path, Errors: refused})
	}
	for _, p := range withoutEffect(file, runtime.GOOS) {
		s.reportProblem(w, p)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		log.Warn().Err(err).Msg("the home folder is unknown; paths that start with ~ are refused")
	}
	r := Result{File: file, Logs: LogFolder(file), Audit: AuditFolder(file), Keep: file.Audit.Keep, Syslog: file.Audit.Syslog}
	r.Syslog.CA = resolvePath(file, r.Syslog.CA, home, false)
	r.Hub = s.baseSettings(file, log)
	cfg := &r.Hub
	cfg.FS = s.FS()
	cfg.Roots.Mapping = rootsMapping(file, os.LookupEnv, os.ReadFile)
	kept := Secrets(file, home)
	kept.Warn = func(text string) { log.Warn().Msg(text) }
	store := secrets.New(kept)
	cfg.Secret = s.acceptedResolver(file, home, store.Resolve)
	r.Logins = Logins(store, kept)
	cfg.Callers = callertoken.New()
	cfg.Login, cfg.StartLogin = r.childLogin, r.startLogin
	if s.Desk != nil && file.HTTP.Resource != "" { // else no browser has an address of the pages
		r.Desk, cfg.LoginPages = s.Desk, true
	}
	if err := addServers(file, cfg); err != nil {
		return r, err
	}
	if cfg.Toolsets, err = ToolsetTable(file, home); err != nil {
		return r, err
	}
	var wrong [4]error // one reading tells everything
	cfg.Pins, wrong[3] = s.readPins(file, home, log)
	cfg.Audit, wrong[0] = auditSettings(file, r.Audit)
	cfg.Fallback, wrong[1] = s.readFallback(file, os.LookupEnv, cfg.Dir, os.Getppid(), log)
	own := cfg.Toolsets
	cfg.Toolsets = s.withChoice(own, os.LookupEnv, cfg.Dir, os.Getppid(), log)
	var folders []string // the hub's own, which no call may touch
	if cfg.Cache != "" {
		folders = append(folders, filepath.Dir(cfg.Cache))
	}
	for _, p := range misnamedTools(file, cfg) {
		s.reportProblem(w, p)
	}
	if cfg.Checker, err = s.buildChecker(file, home, folders); err != nil {
		wrong[2] = exit.ConfigErrorf("%w", policyErrors(file, err))
	} else if s.Shares {
		shareByRoots(file, cfg)
	}
	if s.Consent.Keeps() {
		cfg.Written = s.writtenFolder
	}
	if s.Reach != nil {
		cfg.RecordWritable = func(dirs []string) error {
			if err := s.Reach.Add(dirs...); err != nil {
				return fmt.Errorf("where it may write cannot be put on record for the other hubs of this user, so it does not run: %w; mend that, and it is tried again within seconds", err)
			}
			return nil
		}
	}
	cfg.ForSurroundings = (&clientReader{src: *s, file: file, made: *cfg, toolsets: own, folders: folders}).clientSettings
	return r, errors.Join(wrong[:]...)
}

// writtenFolder returns which folder holds one of these paths, or a link on its way, in which a server of any hub of this user may
// write or could have written. What no person has accepted since counts.
func (s *Source) writtenFolder(paths ...string) (dir string, ok bool) {
	i := consent.Item{ID: "headersFrom"} // never accepted
	for _, path := range paths {
		trail, err := hubfile.Follow(path)
		if err != nil {
			return path, true
		}
		i.Paths = append(i.Paths, trail.All()...)
	}
	if dir, ok = s.Consent.CouldBeWritten(i); ok {
		dir = cmp.Or(dir, "a folder that cannot be told")
	}
	return dir, ok
}

// baseSettings returns what needs no look at the machine.
func (s *Source) baseSettings(file *config.File, log zerolog.Logger) hub.Config {
	return hub.Config{
		Version: s.Version,
		About:   hub.About{Name: file.Name, Title: file.Title, Instructions: file.Instructions},
		Names:   catalog.Names{Separator: file.Names.Separator, Max: file.Names.Max},
		Expose:  exposureOf(file.Expose),
		Roots: rootsmgr.Settings{
			Timeout: file.Roots.Timeout, Debounce: file.Roots.Debounce, Stale: file.Roots.Stale,
			When: rootsmgr.NoRootsPolicy{Unsupported: file.Roots.When.Unsupported != keys.WhenDeny, Empty: file.Roots.When.Empty, Failed: file.Roots.When.Failed, Project: file.Roots.When.Unsupported == keys.WhenProject},
		},
		AllowWithoutRoots: file.HTTP.When.AllowWithoutRoots,
		Limits:            hub.Limits{Frame: int(file.Limits.Frame), ID: int(file.Limits.ID), Definitions: int(file.Limits.Definitions), Calls: file.Limits.Calls, Starting: file.Limits.Starting, Children: file.Limits.Children, PrincipalChildren: file.Limits.Principal.Children, MultiplePrincipals: file.HTTP.HasSeveral()},
		Approval:          approval.Options{Timeout: file.Approval.Timeout, From: answerChannels(&file.Approval, runtime.GOOS), Quiet: file.Approval.Notify == keys.NotifyOff},
		Log:               log,
	}
}

// answerChannels returns who may answer a question: on another system than Linux the client alone, see cannotAnswer.
func answerChannels(a *config.Approval, goos string) *approval.Channels {
	from := a.From
	if from == nil {
		from = []string{keys.FromClient}
		if a.Local == keys.LocalTTY {
			from = append(from, keys.FromTerminal)
		}
	}
	told := goos == "linux"
	return &approval.Channels{
		Client:   slices.Contains(from, keys.FromClient),
		Terminal: told && slices.Contains(from, keys.FromTerminal),
		Console:  told && slices.Contains(from, keys.FromConsole),
	}
}

func exposureOf(e config.Expose) catalog.Exposure {
	switch e.Mode {
	case "search":
		return catalog.Exposure{Search: true}
	case "auto":
		return catalog.Exposure{Above: e.Tokens * catalog.TokenBytes}
	}
	return catalog.Exposure{}
}

// auditSettings returns the audit block of hub.json, without what writes it.
func auditSettings(f *config.File, dir string) (hub.Audit, error) {
	if f.Audit.Required && dir == "" {
		return hub.Audit{}, errorAt(f, `there is no folder for the audit log, so no call could be made; name one in audit.dir (it is "off", or this user has no state folder)`, "audit", "required")
	}
	return hub.Audit{Required: f.Audit.Required, Arguments: f.Audit.Arguments}, nil
}

// printErrors writes all errors of a configuration but the first, which the error
// itself says.
func printErrors(w io.Writer, err error) error {
	var le *config.LoadError
	if errors.As(err, &le) && len(le.Errors) > 1 {
		for _, p := range le.Errors[1:] {
			fmt.Fprintln(w, p.String())
		}
	}
	return err
}
