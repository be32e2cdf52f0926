package seatbelt

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// A Policy is what a process may do. The zero Policy opens nothing.
type Policy struct {
	Areas     []Area
	Closed    []Name // no area opens one that it holds or is, nor what lies in it; and no directory on the way to it is moved or removed
	Unbounded bool   // files are not held; then Areas and Closed mean nothing

	Network    bool     // all addresses
	Ports      []uint16 // of TCP, if Network is not set
	AllSockets bool     // every unix socket
	Sockets    []string // unix sockets that the process may connect to
	Terminals  bool     // terminals, other programs' as well
}

// An Area is a path that is open. Its path is absolute, without links, and spelled as the disk spells it.
type Area struct {
	Path string
	Dir  bool // what lies below is open, too

	Read, Execute, Write, Control bool
}

// A Name is a path that may lead to nothing yet.
type Name struct {
	Path    string // as far as something is there; absolute, without links, spelled as the disk spells it
	Missing string // the rest, in whatever case; "": all of it is there
}

// maxString is how many bytes a string may have. A path of macOS has no more.
const maxString = 1023

// dataVolume is where the volume of the user's files is mounted. Firmlinks join it to the volume of the system.
const dataVolume = "/System/Volumes/Data"

// firmlinks are the paths that lead to the same path below dataVolume (/usr/share/firmlinks).
var firmlinks = []string{
	"/AppleInternal", "/Applications", "/Library", "/Users", "/Volumes", "/cores", "/opt", "/private", "/usr/local", "/usr/libexec/cups", "/usr/share/snmp",
	"/System/Library/Caches", "/System/Library/Assets", "/System/Library/AssetsV2", "/System/Library/PreinstalledAssets", "/System/Library/PreinstalledAssetsV2",
	"/System/Library/CoreServices/CoreTypes.bundle/Contents/Library", "/System/Library/Speech",
}

// privates are links of the system to what lies below /private.
var privates = []string{"/etc", "/tmp", "/var"}

// contains reports whether path is dir or lies below it.
func contains(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

func containsAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return contains(dir, path) })
}

// usual is the spelling of a path that people use and the kernel gives, of those that lead to the same by firmlinks and links of the system.
func usual(path string) string {
	if rest, ok := strings.CutPrefix(path, dataVolume); ok && containsAny(firmlinks, rest) {
		path = rest
	}
	if containsAny(privates, path) {
		path = "/private" + path
	}
	return path
}

// spellings are all names of a path, the usual one first.
func spellings(path string) []string {
	path = usual(path)
	all := []string{path}
	if containsAny(firmlinks, path) {
		all = append(all, dataVolume+path)
	}
	if rest, ok := strings.CutPrefix(path, "/private"); ok && containsAny(privates, rest) {
		all = append(all, rest)
	}
	return all
}

// Text returns the profile. It fails if the language cannot hold a path.
//
// The two rules that deny what another one allows name single operations, after a rule that names all of a kind. So they hold
// whether the last rule wins or the one that names the operation.
func (p Policy) Text() (string, error) {
	w := &writer{}
	w.lines("(version 1)", "(deny default)", "(allow process-fork)",
		"(allow signal process-info* (target same-sandbox))",
		"(allow mach-host*)", "(deny mach-host-exception-port-set mach-host-special-port-set)")
	w.allow("sysctl-read", w.each("sysctl-name", sysctls), w.each("sysctl-name-prefix", sysctlPrefixes))
	w.allow("mach-lookup", w.each("global-name", services))
	w.allow("ipc-posix-shm-read*", w.each("ipc-posix-name", sharedBySystem), w.each("ipc-posix-name-prefix", sharedBySystemPrefixes))
	w.allow("ipc-posix-sem* ipc-posix-shm*", w.each("ipc-posix-name-prefix", madeByPython))
	p.sockets(w)
	p.files(w)
	if w.err != nil {
		return "", w.err
	}
	return w.text.String(), nil
}

// sockets writes what may be connected.
func (p Policy) sockets(w *writer) {
	open := p.Sockets
	if p.Network || len(p.Ports) > 0 {
		open = append(slices.Clip(open), resolver)
		w.allow("mach-lookup", w.each("global-name", networkServices))
		w.allow("sysctl-read", w.each("sysctl-name-prefix", []string{"net.routetable."}))
		w.allow("system-socket", []string{"(socket-domain AF_ROUTE)", "(require-all (socket-domain AF_SYSTEM) (socket-protocol 2))"})
		w.allow("network-outbound", p.addresses("remote"))
		w.allow("network-bind network-inbound", p.addresses("local"))
	}
	if p.AllSockets {
		w.lines("(allow network-outbound (remote unix-socket))", "(allow network-bind network-inbound (local unix-socket))")
		return
	}
	var filters []string
	for _, socket := range open {
		for _, path := range spellings(socket) {
			filters = append(filters, "(remote unix-socket (path-literal "+w.quote(path)+"))")
		}
	}
	w.allow("network-outbound", filters)
}

// addresses are the filters of one end of a connection.
func (p Policy) addresses(end string) (filters []string) {
	if p.Network {
		return []string{"(" + end + " ip)"}
	}
	for _, port := range p.Ports {
		filters = append(filters, fmt.Sprintf(`(%s tcp "*:%d")`, end, port))
	}
	return filters
}

// Operations on what is at a path. None of them gives a file the rights of its owner (file-write-setugid), and none makes a device.
const (
	looks   = "file-read-metadata file-test-existence"
	reads   = "file-read* file-test-existence file-map-executable file-clone"
	changes = "file-write-data file-write-mode file-write-owner file-write-times file-write-xattr file-write-flags file-write-finderinfo file-link"
	moves   = "file-write-create file-write-unlink"
)

// files writes what may be opened, changed and run.
func (p Policy) files(w *writer) {
	if p.Unbounded {
		w.lines("(allow file* process-exec*)", "(deny file-write-setugid)")
		return
	}
	var read, execute, change, move, control []string
	parents := map[string]bool{}
	for _, a := range p.Areas {
		a.Path = usual(a.Path)
		if path.Clean(a.Path) != a.Path || !path.IsAbs(a.Path) {
			w.fail(fmt.Errorf("%q is no clean path", a.Path))
			continue
		}
		closed := p.within(a)
		if closed == nil {
			continue
		}
		opens := w.open(a, closed, false)
		if a.Read {
			read = append(read, opens...)
		}
		if a.Execute {
			execute = append(execute, opens...)
		}
		if a.Control {
			control = append(control, opens...)
		}
		if a.Write {
			change = append(change, opens...)
			if a.Dir {
				move = append(move, w.open(a, closed, true)...)
			}
		}
		for _, spelling := range spellings(a.Path) {
			for up := path.Dir(spelling); up != "/"; up = path.Dir(up) {
				parents[up] = true
			}
		}
	}
	if p.Terminals {
		terminals := []string{"(literal " + w.quote("/dev/ptmx") + ")", "(literal " + w.quote("/dev/tty") + ")", "(regex " + w.quote("^/dev/ttys[0-9]+$") + ")"}
		w.lines("(allow pseudo-tty)")
		read, change, control = append(read, terminals...), append(change, terminals...), append(control, terminals...)
	}
	w.allow(looks, []string{"(vnode-type SYMLINK)"}, w.each("literal", sorted(parents)))
	w.allow(reads, []string{"(literal " + w.quote("/") + ")"}, read)
	w.allow("process-exec*", execute)
	w.allow("file-ioctl", control)
	w.allow(changes, change)
	w.allow(moves, move)
}

// within are the closed names in an area; nil if the area is one of them. An area that lies in one opens: it was meant to.
func (p Policy) within(a Area) []Name {
	found := []Name{}
	for _, c := range p.Closed {
		for _, c.Path = range spellings(c.Path) {
			switch {
			case c.Missing == "" && c.Path == a.Path:
				return nil
			case a.Dir && contains(a.Path, c.Path):
				found = append(found, c)
			}
		}
	}
	if a.Path != "/" && a.Path != dataVolume && contains(a.Path, dataVolume) {
		found = append(found, Name{Path: dataVolume}) // the user's files are not meant by a folder of the system
	}
	return found
}

// open are the filters of an area without what is closed in it. moving: of what may be made, moved and removed in it.
// The area itself may not, because what has its name next would be open.
func (w *writer) open(a Area, closed []Name, moving bool) (filters []string) {
	for _, top := range spellings(a.Path) {
		if !a.Dir {
			filters = append(filters, "(literal "+w.quote(top)+")")
			continue
		}
		all := []string{"(subpath " + w.quote(top) + ")"}
		not := func(filter string) {
			if filter = "(require-not " + filter + ")"; !slices.Contains(all, filter) {
				all = append(all, filter)
			}
		}
		if moving {
			not("(literal " + w.quote(top) + ")")
		}
		for _, c := range closed {
			w.except(top, c, moving, not)
		}
		if len(all) == 1 {
			filters = append(filters, all[0])
		} else {
			filters = append(filters, "(require-all "+strings.Join(all, " ")+")")
		}
	}
	return filters
}

// except takes a name out of an area, with all that lies in it. moving: its parents in the area as well.
func (w *writer) except(top string, c Name, moving bool, not func(filter string)) {
	for _, at := range spellings(c.Path) {
		if !contains(top, at) {
			continue
		}
		parent := path.Dir(at)
		if c.Missing == "" {
			not("(subpath " + w.quote(at) + ")")
		} else {
			parent = at
			pattern := "^" + exactly(strings.TrimSuffix(at, "/"))
			parts := strings.Split(c.Missing, "/")
			for i, part := range parts {
				pattern += "/" + anyCase(part)
				if i == len(parts)-1 {
					not("(regex " + w.quote(pattern+"(/|$)") + ")")
				} else if moving {
					not("(regex " + w.quote(pattern+"$") + ")")
				}
			}
		}
		for ; moving && parent != top && contains(top, parent); parent = path.Dir(parent) {
			not("(literal " + w.quote(parent) + ")")
		}
	}
}

// A writer collects a profile, or why there is none.
type writer struct {
	text strings.Builder
	err  error
}

func (w *writer) fail(err error) { w.err = errors.Join(w.err, err) }

func (w *writer) lines(lines ...string) {
	for _, line := range lines {
		w.text.WriteString(line + "\n")
	}
}

// allow writes a rule that allows what any of the filters matches: nothing, if there are none.
func (w *writer) allow(operations string, lists ...[]string) {
	if filters := slices.Concat(lists...); len(filters) > 0 {
		w.lines("(allow " + operations + "\n  " + strings.Join(filters, "\n  ") + ")")
	}
}

// each is a filter for each of some strings.
func (w *writer) each(filter string, values []string) (filters []string) {
	for _, value := range values {
		filters = append(filters, "("+filter+" "+w.quote(value)+")")
	}
	return filters
}
