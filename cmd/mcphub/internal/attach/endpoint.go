package attach

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"mcphub/cmd/mcphub/internal/config/hubfile"
	"mcphub/cmd/mcphub/internal/rundir"
	"mcphub/internal/ownership"
)

// An Endpoint is where one hub and its adapters meet: files of one name in a folder that is the
// user's alone.
type Endpoint struct {
	Config string // hub.json, absolute; "": there is none
	Dirs   []string
	name   string
}

// EndpointOf returns the endpoint of a command line in an environment: one for each
// hub.json, version of this program and environment of a hub.
func EndpointOf(l CommandLine, environ []string) (Endpoint, error) {
	program, err := fileIdentity()
	if err != nil {
		return Endpoint{}, fmt.Errorf("this program's own file cannot be looked at: %w", err)
	}
	get := hubfile.Lookup(environ)
	value := func(name string) string { v, _ := get(name); return v }
	// Not TMPDIR: the hub has none.
	at := rundir.Candidates{Runtime: value("XDG_RUNTIME_DIR"), State: rundir.State(value), Temp: "/tmp"}
	e := Endpoint{Config: realConfig(configOf(l, environ)), Dirs: at.Folders()}
	d := sha256.New()
	for _, text := range append(append([]string{program, e.Config, strconv.Itoa(len(l.Set))}, l.Set...), HubEnviron(environ)...) {
		d.Write([]byte(text))
		d.Write([]byte{0})
	}
	e.name = hex.EncodeToString(d.Sum(nil)[:8])
	return e, nil
}

// configOf returns the path of hub.json; "": there is none.
func configOf(l CommandLine, environ []string) string {
	path, _ := hubfile.Find(l.Config, hubfile.Lookup(environ), func(path string) bool { _, err := os.Stat(path); return err == nil })
	return path
}

// Folder returns the first of Dirs that can be used; it is made if it is missing.
func (e Endpoint) Folder() (string, error) {
	return rundir.First(e.Dirs, func(dir string) (string, error) { return dir, rundir.Claim(dir) })
}

// Names of an endpoint's files in a folder.
func (e Endpoint) Socket(dir string) string     { return filepath.Join(dir, e.name+".attach") }
func (e Endpoint) secretFile(dir string) string { return filepath.Join(dir, e.name+".secret") }
func (e Endpoint) endsFile(dir string) string   { return filepath.Join(dir, e.name+".ends") }

// Lock returns the file that is locked while the hub of the endpoint is started.
func (e Endpoint) Lock(dir string) string { return filepath.Join(dir, e.name+".lock") }

// startLock returns the file that is locked by the adapter that has the hub started.
func (e Endpoint) startLock(dir string) string { return filepath.Join(dir, e.name+".turn") }

// MakeSecret writes a new secret, which who attaches has to show.
func (e Endpoint) MakeSecret(dir string) (string, error) {
	secret := rand.Text()
	path := e.secretFile(dir)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(secret)
	return secret, errors.Join(err, f.Close())
}

// RemoveSecret removes what MakeSecret has made.
func (e Endpoint) RemoveSecret(dir string) { _ = os.Remove(e.secretFile(dir)) }

// readSecret reads it, if it is this user's alone.
func (e Endpoint) readSecret(dir string) (string, error) {
	b, err := readOwn(e.secretFile(dir), LongestLine/2)
	return string(b), err
}

// readOwn reads a file of this user's, if it is one and no longer than most.
func readOwn(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noLink, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is not what this program has written there", path)
	}
	if err := ownership.Check(info); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return io.ReadAll(io.LimitReader(f, most))
}

// endBounds are how many ends of the hub are too many within a time: no other is started then. The second one is for a hub that ends
// again and again, and lives longer than the first one sees.
var endBounds = []struct {
	ends   int
	within time.Duration
	named  string
}{{4, time.Minute, "a minute"}, {12, time.Hour, "an hour"}}

const endsSize = 64 << 10

// noteEnd puts on record that the hub with this process id has ended under a session. Every session
// that it served does.
func (e Endpoint) noteEnd(dir string, hub int, at time.Time) {
	f, err := os.OpenFile(e.endsFile(dir), os.O_CREATE|os.O_WRONLY|os.O_APPEND|noLink, 0o600)
	if err != nil {
		return // then it is started again, whatever it did
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return
	}
	if info.Size() > endsSize {
		_ = f.Truncate(0)
	}
	_, _ = fmt.Fprintf(f, "%d %d\n", hub, at.Unix())
}

// TooManyEnds returns why no hub is to be started: nil while it may.
func (e Endpoint) TooManyEnds(dir string, now time.Time) error {
	b, err := readOwn(e.endsFile(dir), 2*endsSize)
	if err != nil {
		return nil // none is on record
	}
	for _, bound := range endBounds {
		hubs := map[string]bool{}
		for line := range strings.Lines(string(b)) {
			hub, at, _ := strings.Cut(strings.TrimSpace(line), " ")
			sec, err := strconv.ParseInt(at, 10, 64)
			// A clock that was set back leaves times ahead, which would count for as long.
			if err == nil && now.Sub(time.Unix(sec, 0)).Abs() < bound.within {
				hubs[hub] = true
			}
		}
		if len(hubs) >= bound.ends {
			return fmt.Errorf("the shared hub ended %d times within %s; see its log, shared.log, and remove %s to share one sooner", len(hubs), bound.named, e.endsFile(dir))
		}
	}
	return nil
}

// Wanted reports whether hub.json or its like could want a shared hub. It reads no JSON: who reads it
// reports whether it does. It is asked at every start, so it looks at nothing else.
func Wanted(l CommandLine, environ []string) bool {
	for _, set := range l.Set {
		if strings.HasPrefix(set, "attach") {
			return true
		}
	}
	for _, pair := range environ {
		if strings.HasPrefix(pair, "MCPHUB_ATTACH") {
			return true
		}
	}
	config := configOf(l, environ)
	if config == "" {
		return false
	}
	info, err := os.Stat(config)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	text, err := os.ReadFile(config)
	return err == nil && mentionsAttach(string(text))
}

// mentionsAttach reports whether a hub.json has a key "attach" that is not plainly off.
func mentionsAttach(text string) bool {
	for {
		_, rest, found := strings.Cut(text, `"attach"`)
		if !found {
			return false
		}
		text = rest
		value, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), ":")
		if !ok || !strings.HasPrefix(strings.TrimLeft(value, " \t\r\n"), `"off"`) {
			return true
		}
	}
}
