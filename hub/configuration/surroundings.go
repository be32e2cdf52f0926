package configuration

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"

	"github.com/rs/zerolog"

	"mcphub/hub/catalog"
	"mcphub/internal/caller"
	"mcphub/internal/kept"
	"mcphub/internal/principal"
	"mcphub/rootsmgr"
)

// Surroundings are what a client's process brings to its session. The zero value is the
// hub's own.
type Surroundings struct {
	Environ     []string        // its environment, NAME=value; nil: the hub's
	Dir         string          // its working directory; "": the hub's
	Roots       string          // what its --roots said
	RootsGiven  bool            // it had one, be it empty
	Client      caller.Process  // the client itself
	Adapter     caller.Process  // what the client has started, and has handed its streams over
	Log         *zerolog.Logger // of its session; nil: the hub's
	Kept        *kept.Memory    // holds the state of the session for a hub that comes after this one; nil: it is not kept
	Toolsets    []string        // what its --toolset said; nil: nothing
	Impersonate *Impersonation  // as whom it is served; nil: the user of this machine, as the one who has started the hub
}

// Impersonation is whom a session is served as, by a command that shows what another client would get.
type Impersonation struct {
	Principal principal.Principal
	Ceiling   []rootsmgr.RootEntry // of everything that it may touch; nil: none
	Toolsets  []string             // that its token may have; nil: any
}

// SameAsHub reports whether a session in them is served as in the hub's own.
func (s *Surroundings) SameAsHub() bool { return s.Environ == nil && s.Dir == "" && !s.RootsGiven }

// ErrSurroundings is why a session was refused: the configuration cannot be what it is in its
// surroundings and serve others too.
var ErrSurroundings = errors.New("this client cannot be served by a hub of several")

// SettingsFor returns the settings as they are in other surroundings. What differs is the children,
// what is broken or disabled, the judge, and the roots of clients that give none.
func (conf *Configuration) SettingsFor(s *Surroundings) (Settings, error) {
	if conf.Settings.ForSurroundings == nil {
		return conf.Settings, nil
	}
	set, err := conf.Settings.ForSurroundings(s)
	if err != nil {
		return Settings{}, fmt.Errorf("%w: %w", ErrSurroundings, err)
	}
	return set, nil
}

// ForClient makes the Configuration of sessions in the surroundings that set is for. conf is the
// Configuration of the hub's own surroundings.
func (conf *Configuration) ForClient(set Settings, own []catalog.HubTool) (*Configuration, error) {
	e := newConfiguration(conf.Number, conf.skills)
	e.base, e.given = conf, set.Children
	environ, dir := set.Environ, set.Dir
	set = set.keepFrom(&conf.Settings)
	set.Environ, set.Dir = environ, dir
	isDir := folderChecker()
	return e, e.fillFrom(set, own, func(child *Child) {
		s := &child.Spec
		s.Environ, s.Dir = environ, dir
		s.Variant = s.VariantDigest(isDir)
		if s.Variant == conf.variants()[s.Name] {
			s.Variant, s.Revision = "", conf.Child(s.Name).Spec.Revision
			return
		}
		// The same for all sessions of the Variant, whenever they come, and until the child is
		// to start again; never that of a Spec without one.
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", s.Variant, conf.restartedAt[s.Name]))
		s.Revision = binary.BigEndian.Uint64(sum[:]) | 1<<63
	})
}

// Matches reports whether ForClient would make the same of set. e is what it has made.
func (e *Configuration) Matches(set *Settings) bool {
	return e.Checker == set.Checker && e.Dir == set.Dir && slices.Equal(e.Environ, set.Environ) && reflect.DeepEqual(e.given, set.Children) &&
		reflect.DeepEqual(e.Broken, set.Broken) && slices.Equal(e.Disabled, set.Disabled) && reflect.DeepEqual(e.Fallback, set.Fallback) &&
		reflect.DeepEqual(e.Toolsets, set.Toolsets)
}

// readVariants digests what the children are in the hub's own surroundings, by name. It is
// done when the first session has others.
func (conf *Configuration) readVariants() map[string]string {
	out, isDir := map[string]string{}, folderChecker()
	for i := range conf.Children {
		s := conf.Children[i].Spec
		s.Environ, s.Dir = conf.Environ, conf.Dir
		out[s.Name] = s.VariantDigest(isDir)
	}
	return out
}

// folderChecker reports whether folders are there, and looks at each once.
func folderChecker() func(path string) bool {
	seen := map[string]bool{}
	return func(path string) bool {
		there, known := seen[path]
		if !known {
			fi, err := os.Stat(path)
			there = err == nil && fi.IsDir()
			seen[path] = there
		}
		return there
	}
}

// countRestarts counts up for children that are to start again.
func (conf *Configuration) countRestarts(old *Configuration, restart []string) {
	conf.restartedAt = old.restartedAt
	if len(restart) > 0 {
		conf.restartedAt = maps.Clone(old.restartedAt)
		if conf.restartedAt == nil {
			conf.restartedAt = map[string]uint64{}
		}
		for _, name := range restart {
			conf.restartedAt[name] = conf.Number
		}
	}
}
