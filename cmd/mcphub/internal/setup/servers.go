package setup

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"mcphub/children/consent"
	"mcphub/children/launch"
	"mcphub/children/remote"
	"mcphub/children/sandbox"
	"mcphub/children/spec"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/keys"
	"mcphub/cmd/mcphub/internal/exit"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/hub"
	"mcphub/hub/catalog"
	"mcphub/hub/fixed"
	"mcphub/hub/turns"
	"mcphub/internal/trust"
	"mcphub/rootsmgr"
	"mcphub/rootsmgr/guard"
	"mcphub/validate/strictjson"
)

// addServers makes the children of the addServers of a file, and what they are started in.
func addServers(file *config.File, cfg *hub.Config) error {
	dir, err := os.Getwd()
	if err != nil {
		return exit.Errorf(exit.Failure, "the working directory is gone: %w", err)
	}
	cfg.Environ, cfg.Dir = os.Environ(), dir
	cfg.Home, _ = os.UserHomeDir() // who calls has said where it is unknown
	confirmed := consent.New(rundir.State(os.Getenv))
	if cache := launch.NewMachine(cfg.Environ, cfg.Home, "").CacheFolder(); cache != "" {
		cfg.Cache = filepath.Join(cache, "catalogue")
	}
	for i := range file.Servers {
		if err := addServer(cfg, file, &file.Servers[i], confirmed); err != nil {
			return err
		}
	}
	return nil
}

// prefixOf returns what the names of a server's tools begin with towards clients.
func prefixOf(file *config.File, s *config.Server) string {
	switch {
	case s.Prefix != nil:
		return *s.Prefix
	case file.Names.Max <= catalog.MaxToolName: // of other clients some refuse each prompt that has a tool with a dot in its name
		return strings.ReplaceAll(s.Name, ".", "_") + file.Names.Separator
	}
	return s.Name + file.Names.Separator
}

// addServer turns one entry into a child, or into a broken one with a reason. confirmed has what a person has confirmed for it.
func addServer(cfg *hub.Config, file *config.File, s *config.Server, confirmed *consent.Store) error {
	prefix := prefixOf(file, s)
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
	absolute := func(text string) string { return absoluteReferences(file, text, cfg.Home) }
	absoluteIn := func(m map[string]string) map[string]string {
		out := maps.Clone(m)
		for name, text := range out {
			out[name] = absolute(text)
		}
		return out
	}
	args := slices.Clone(s.Args)
	for i, text := range args {
		args[i] = absolute(text)
	}
	child := spec.Spec{
		Name: s.Name, Command: resolvePath(file, s.Command, cfg.Home, true), Args: args, Env: absoluteIn(s.Env), EnvFile: resolvePath(file, s.EnvFile, cfg.Home, false), Inherit: s.Inherit,
		Cwd: resolvePath(file, s.Cwd, cfg.Home, false), Local: s.Local, Roots: rootsModes[s.RootsMode()], Share: shares[s.Share], Start: starts[s.Start], Era: eras[s.Era],
		StartTimeout: s.Timeout.Start, CallTimeout: s.Timeout.Call, StopTimeout: s.Timeout.Stop,
		FrameLimit: int(file.Limits.Frame), IDLimit: int(file.Limits.ID),
		URL: absolute(s.URL), Headers: absoluteIn(s.Headers),
	}
	if s.URL != "" {
		child.Transport = remote.Transport(s.Type)
		child.Auth.Document = file.Auth.ClientID
		child.TLS = tlsSettings(file, s, cfg.Home)
		if h := s.HeadersFrom; h != nil {
			child.HeadersFrom = spec.HeaderProgram{Command: resolvePath(file, h.Command, cfg.Home, true), Args: h.Args, TTL: cmp.Or(h.TTL, headersHold), At: lineOf(file, "mcpServers", s.Name, "headersFrom")}
		}
	}
	if a := s.Auth; a != nil {
		child.Auth = spec.Auth{
			Asked: true, Machine: a.Flow == keys.FlowClient, Exchange: a.Flow == keys.FlowExchange, ClientID: a.ClientID, ClientSecret: absolute(a.ClientSecret),
			Document: child.Auth.Document, Issuer: a.Issuer, Scopes: a.Scopes,
			Redirect: redirectOf(a), CallbackPort: a.CallbackPort,
			At: lineOf(file, "mcpServers", s.Name, "auth"),
		}
	}
	switch s.Protocol {
	case "":
	case keys.ModernProtocol:
		child.Era = spec.EraModern
	default:
		child.Era, child.Protocol = spec.EraLegacy, s.Protocol
	}
	if s.Builtin != "" {
		exe, err := os.Executable()
		if err != nil {
			return exit.Errorf(exit.Failure, "the program's own file is unknown, so the embedded server cannot be started: %w", err)
		}
		child.Command, child.Args = exe, append([]string{s.Builtin}, args...)
		child.Directories = true
		child.Era = spec.EraLegacy // it keeps the roots that it was told, and is told about changes
	}
	switch {
	case s.Timeout.Idle != nil:
		child.IdleTimeout = *s.Timeout.Idle
	case child.Share != spec.ShareSession:
		child.IdleTimeout = sharedIdle
	}
	child.Sandbox = sandboxSettings(file, s, cfg.Home)
	if child.Sandbox.Confines() && file.Path != "" {
		addRecorded(&child.Sandbox, file.Path, s.Key, cfg, confirmed)
	}
	if child.Sandbox.Mode == sandbox.Auto {
		child.Sandbox.Cannot = child.Program().Unheld(sandbox.CurrentKernel())
	}
	child.Limits.Memory, child.Limits.Processes = s.Limits.Memory, s.Limits.Processes
	calls, err := callLimits(&s.Limits)
	if err != nil {
		broken("%s", err)
		return nil
	}
	resultMax := file.Results.Max
	if s.Results.Max != nil {
		resultMax = *s.Results.Max
	}
	cfg.Children = append(cfg.Children, hub.Child{
		Spec: child, Prefix: prefix, Include: s.Tools.Include, Exclude: s.Tools.Exclude, Always: s.Tools.Always, Words: toolWords(&s.Tools), ResultMax: int(resultMax), Roots: ownRoots(file, s), Calls: calls,
	})
	return nil
}

// toolWords returns what an entry says about tools of the server.
func toolWords(t *config.Tools) catalog.Words {
	out := catalog.Words{Rename: t.Rename, Describe: t.Describe}
	for tool, args := range t.Set {
		for _, pointer := range slices.Sorted(maps.Keys(args)) {
			a := fixed.Argument{Value: []byte(args[pointer])}
			for rest, ok := pointer, true; rest != "" && ok; {
				var name string
				if name, rest, ok = strictjson.CutToken(rest); ok {
					a.Path = append(a.Path, name)
				}
			}
			if out.Set == nil {
				out.Set = map[string][]fixed.Argument{}
			}
			out.Set[tool] = append(out.Set[tool], a)
		}
	}
	return out
}

// waitingCalls is how many calls wait for a server with limits.calls if hub.json does not say.
const waitingCalls = 32

// callLimits returns the limits of an entry on its calls.
func callLimits(l *config.ServerLimits) (turns.Limits, error) {
	bound := func(of config.CallLimits) (b turns.Bound, err error) {
		var ok bool
		if b.Rate.N, b.Rate.Per, ok = keys.ParseRate(of.Rate); !ok {
			return b, fmt.Errorf("%q is no rate", of.Rate) // config has refused it
		}
		if b.Calls = of.Calls; b.Calls > 0 {
			b.Queue = waitingCalls
			if of.Queue != nil {
				b.Queue = *of.Queue
			}
		}
		return b, nil
	}
	var out turns.Limits
	var err error
	if out.All, err = bound(l.CallLimits); err != nil {
		return out, err
	}
	for _, pattern := range slices.Sorted(maps.Keys(l.Tools)) {
		b, err := bound(l.Tools[pattern])
		if err != nil {
			return out, err
		}
		out.Tools = append(out.Tools, turns.ToolBound{Pattern: pattern, Bound: b})
	}
	return out, nil
}

// addRecorded adds what a person has confirmed that the server opens.
func addRecorded(s *sandbox.Settings, file, name string, cfg *hub.Config, confirmed *consent.Store) {
	path, err := filepath.Abs(file)
	if err == nil {
		s.Owner = consent.RecordedOwner(path, name)
		s.Recorded, err = confirmed.Recorded(s.Owner)
	}
	if err != nil {
		cfg.Log.Warn().Err(err).Str("child", name).Msg("what was confirmed for this server cannot be read, so it is closed")
	}
}

// ownRoots returns the directories that a server has for itself; nil if it has the roots of its clients.
func ownRoots(file *config.File, s *config.Server) (dirs []rootsmgr.RootEntry) {
	if s.RootsMode() == "" {
		for _, dir := range s.Roots {
			dirs = append(dirs, rootsmgr.SettingEntry(guard.OS{}, dir, file.Dir()))
		}
	}
	return dirs
}

// DirectoriesOf returns the directories among the arguments of a command that is a filesystem server.
func DirectoriesOf(command string, args []string) []string {
	return (&spec.Spec{Command: command, Args: args}).Program().OwnDirectories()
}

// sandboxSettings returns what the kernel is to hold a server to; nothing if it
// runs elsewhere.
func sandboxSettings(file *config.File, s *config.Server, home string) sandbox.Settings {
	if s.URL != "" {
		return sandbox.Settings{}
	}
	from := &s.Sandbox
	out := sandbox.Settings{
		Mode: sandboxModes[from.Mode], Default: from.Default, Sockets: choices[from.Sockets], KeepRunning: choices[from.Widen],
		Network: sandbox.Network{On: from.Network.Word == "on"},
	}
	out.At = lineOf(file, "mcpServers", s.Name, "sandbox")
	for _, port := range slices.Sorted(slices.Values(from.Network.Ports)) {
		out.Network.Ports = append(out.Network.Ports, uint16(port))
	}
	for _, path := range from.Read {
		out.Read = append(out.Read, resolvePath(file, path, home, false))
	}
	for _, path := range from.Write {
		out.Write = append(out.Write, resolvePath(file, path, home, false))
	}
	return out
}

// tlsSettings returns how the server of an entry is known, and what it is shown.
func tlsSettings(file *config.File, s *config.Server, home string) trust.Settings {
	if s.TLS == nil {
		return trust.Settings{}
	}
	named := func(path, key string) trust.File {
		return trust.File{Path: resolvePath(file, path, home, false), At: lineOf(file, "mcpServers", s.Name, "tls", key)}
	}
	return trust.Settings{
		CA: named(s.TLS.CA, "ca"), Cert: named(s.TLS.Cert, "cert"), Key: named(s.TLS.Key, "key"),
		Pins: s.TLS.Pin, PinsAt: lineOf(file, "mcpServers", s.Name, "tls", "pin"),
	}
}

// lineOf returns the line of a key of hub.json.
func lineOf(file *config.File, path ...string) string {
	at := file.At(path...)
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// headersHold is how long the headers of a program hold if hub.json does not say.
const headersHold = 10 * time.Minute

// sharedIdle is how long a shared server may be idle unless hub.json says
// otherwise; a session's own is never stopped, its state is the user's.
const sharedIdle = 15 * time.Minute

// choices are the words that leave nothing to the profile of a server.
var choices = map[string]sandbox.Choice{"on": sandbox.Yes, "off": sandbox.No, "refuse": sandbox.Yes, "restart": sandbox.No}

// rootsModes, shares, starts, sandboxModes and eras translate hub.json's words; config has refused others.
var (
	rootsModes   = map[string]spec.RootsMode{"args": spec.RootsArgs, "list": spec.RootsList, "none": spec.RootsNone}
	shares       = map[string]spec.Share{"roots": spec.ShareRoots, "all": spec.ShareAll}
	starts       = map[string]spec.StartMode{"eager": spec.StartEager}
	sandboxModes = map[string]sandbox.Mode{keys.SandboxAuto: sandbox.Auto, keys.SandboxRequired: sandbox.Required}
	eras         = map[string]spec.Era{"legacy": spec.EraLegacy, "modern": spec.EraModern}
)
