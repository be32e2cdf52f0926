package setup

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/rs/zerolog"

	"mcphub/children/consent"
	"mcphub/children/launch"
	"mcphub/cmd/mcphub/internal/config"
	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/hub"
	"mcphub/hub/toolset"
)

// This file reads the configuration in the surroundings of clients: for each it is what a hub
// of its own would have read, as far as one hub can be that for several.

// A clientReader reads a configuration in force again in the surroundings of clients.
type clientReader struct {
	src     Source
	file    *config.File
	made    hub.Config // of file
	folders []string   // the hub's own

	toolsets *toolset.Table // of file, whatever a project chooses

	mu       sync.Mutex
	readings []*reading // the newest last
}

// maxReadings is how many readings are kept.
const maxReadings = 32

// A reading is what the file amounts to in some surroundings. It holds wherever the
// variables that it has looked up are the same.
type reading struct {
	seen  map[string]variable
	above []config.Setting
	file  *config.File
	cfg   hub.Config // children, what is broken and disabled, and the judge
	names []string   // of variables that its children may get, or that it was made of
}

type variable struct {
	value string
	set   bool
}

// lookup is as os.LookupEnv.
type lookup = func(string) (string, bool)

// getenvFrom is as os.Getenv.
func getenvFrom(env lookup) func(string) string {
	return func(name string) string { value, _ := env(name); return value }
}

// clientSettings is hub.Config.ForSurroundings.
func (c *clientReader) clientSettings(a *hub.Surroundings) (hub.Config, error) {
	environ := a.Environ
	if environ == nil {
		environ = c.made.Environ
	}
	env := hubfile.Lookup(environ)
	home := func(get func(string) string) string { return get(hubfile.HomeVariable()) }
	for _, kept := range []struct {
		by     string
		folder func(func(string) string) string
	}{{hubfile.HomeVariable(), home}, {"XDG_CONFIG_HOME", configFolder}, {"XDG_STATE_HOME", rundir.State}} {
		if kept.folder(getenvFrom(env)) != kept.folder(getenvFrom(hubfile.Lookup(c.made.Environ))) {
			return hub.Config{}, fmt.Errorf("its %s is another than that of the hub, which keeps its secrets and its record there; give it the same, or a hub of its own", kept.by)
		}
	}
	r, err := c.readEnvironment(env, environ)
	if err != nil {
		return hub.Config{}, err
	}
	cfg := c.made
	cfg.Children, cfg.Broken, cfg.Disabled, cfg.Checker = r.cfg.Children, r.cfg.Broken, r.cfg.Disabled, r.cfg.Checker
	cfg.Environ, cfg.Dir = launch.Variables(environ, r.names), cmp.Or(a.Dir, c.made.Dir)
	log := zerolog.Nop()
	if a.Log != nil {
		log = *a.Log
	}
	src := c.src
	src.Roots, src.RootsGiven = a.Roots, func() bool { return a.RootsGiven }
	cfg.Toolsets = src.withChoice(c.toolsets, env, cfg.Dir, a.Client.PID, log)
	cfg.Fallback, err = src.readFallback(r.file, env, cfg.Dir, a.Client.PID, log)
	return cfg, err
}

// readEnvironment returns the reading of an environment. No lock is held while the disk is looked at.
func (c *clientReader) readEnvironment(env lookup, environ []string) (*reading, error) {
	above, err := c.src.overridingSettings(environ)
	if err != nil {
		return nil, err
	}
	if r := c.knownReading(env, above); r != nil {
		return r, nil
	}
	r := &reading{seen: map[string]variable{}, above: above}
	if err := c.parseFile(r, env); err != nil {
		return nil, err
	}
	if key := c.file.DifferingKey(r.file); key != "" {
		return nil, fmt.Errorf("%s would be another here%s, and one hub has one for all its clients; take that out of the environment of this client, or give it a hub of its own", key, c.causeOf(key, r, environ))
	}
	if err := c.buildReading(r); err != nil {
		return nil, err
	}
	return c.keepReading(r, env), nil
}

// knownReading returns the reading of an environment that there is; nil: none.
func (c *clientReader) knownReading(env lookup, above []config.Setting) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findReading(env, above)
}

// keepReading keeps a reading, and returns it; of several of one environment the first, so that what is made of them is the same.
func (c *clientReader) keepReading(r *reading, env lookup) *reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	if was := c.findReading(env, r.above); was != nil {
		return was
	}
	if c.readings = append(c.readings, r); len(c.readings) > maxReadings {
		c.readings = slices.Delete(c.readings, 0, 1)
	}
	return r
}

// findReading expects the caller to hold mu.
func (c *clientReader) findReading(env lookup, above []config.Setting) *reading {
	for _, r := range c.readings {
		if reflect.DeepEqual(r.above, above) && !slices.ContainsFunc(slices.Collect(maps.Keys(r.seen)), func(name string) bool {
			value, set := env(name)
			return r.seen[name] != variable{value, set}
		}) {
			return r
		}
	}
	return nil
}

// parseFile reads the file as r, and notes what it looks up.
func (c *clientReader) parseFile(r *reading, env lookup) (err error) {
	if c.src.BuiltinOnly {
		r.file = c.file
		return nil
	}
	r.file, _, err = c.file.WithEnv(func(name string) (string, bool) {
		value, set := env(name)
		r.seen[name] = variable{value, set}
		return value, set
	}, r.above...)
	if err != nil {
		return errors.New(strings.Join(config.ErrorLines(err), "; "))
	}
	return nil
}

// causeOf names the variable by which a key differs; "" if it is not one alone.
func (c *clientReader) causeOf(key string, r *reading, environ []string) string {
	was := hubfile.Lookup(c.made.Environ)
	names := slices.Collect(maps.Keys(r.seen))
	for _, s := range slices.Concat(config.Environment(environ), config.Environment(c.made.Environ)) {
		names = append(names, s.From)
	}
	slices.Sort(names)
	now := hubfile.Lookup(environ)
	for _, name := range slices.Compact(names) {
		mixed := slices.DeleteFunc(slices.Clone(c.made.Environ), func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
		value, set := now(name)
		if before, had := was(name); before == value && had == set {
			continue
		}
		if set {
			mixed = append(mixed, name+"="+value)
		}
		above, err := c.src.overridingSettings(mixed)
		if err != nil {
			continue
		}
		one := &reading{seen: map[string]variable{}, above: above}
		if err := c.parseFile(one, hubfile.Lookup(mixed)); err == nil && c.file.DifferingKey(one.file) == key {
			return " by the variable " + name
		}
	}
	return ""
}

// buildReading makes of a reading what a hub is made of.
func (c *clientReader) buildReading(r *reading) error {
	for i := range r.file.Servers {
		r.names = append(r.names, r.file.Servers[i].Inherit...)
	}
	r.names = append(r.names, slices.Collect(maps.Keys(r.seen))...)
	slices.Sort(r.names)
	if reflect.DeepEqual(r.file.Servers, c.file.Servers) {
		r.cfg = c.made
		return nil
	}
	r.cfg = hub.Config{Home: c.made.Home}
	confirmed := consent.New(rundir.State(os.Getenv))
	for i := range r.file.Servers {
		s := &r.file.Servers[i]
		was, now := ownFiles(c.file, &c.file.Servers[i], c.made.Home), ownFiles(r.file, s, c.made.Home)
		if s.Err == nil && !slices.Equal(now, was) && c.src.Consent.Keeps() {
			other := slices.Concat(slices.DeleteFunc(slices.Clone(now), func(own ownFile) bool { return slices.Contains(was, own) }), was)[0]
			p := r.file.At(append([]string{"mcpServers", s.Name}, strings.Split(other.key, ".")...)...)
			p.Text, p.Hint = "another file for each client cannot be accepted for all", "name one for all, or give this client a hub of its own"
			s.Err = &p
		}
		if err := addServer(&r.cfg, r.file, s, confirmed); err != nil {
			return err
		}
	}
	var err error
	if r.cfg.Checker, err = c.src.buildChecker(r.file, c.made.Home, c.folders); err == nil && c.src.Shares {
		shareByRoots(r.file, &r.cfg)
	}
	return err
}
