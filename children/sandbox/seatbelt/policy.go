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

// containsPath reports whether path is dir or lies below it.
func containsPath(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, dir)
	return ok && (rest == "" || rest[0] == '/' || dir == "/")
}

func containsAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return containsPath(dir, path) })
}

// usualSpelling returns the spelling of a path that people use and the kernel gives, of the ones that lead to the same by firmlinks and
// links of the system.
func usualSpelling(path string) string {
	if rest, ok := strings.CutPrefix(path, dataVolume); ok && containsAny(firmlinks, rest) {
		path = rest
	}
	if containsAny(privates, path) {
		path = "/private" + path
	}
	return path
}

// allSpellings returns all names of a path, the usual one first.
func allSpellings(path string) []string {
	path = usualSpelling(path)
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
	w.writeLines("(version 1)", "(deny default)", "(allow process-fork)",
		"(allow signal process-info* (target same-sandbox))",
		"(allow mach-host*)", "(deny mach-host-exception-port-set mach-host-special-port-set)")
	w.allowMatching("sysctl-read", w.filterEach("sysctl-name", sysctls), w.filterEach("sysctl-name-prefix", sysctlPrefixes))
	w.allowMatching("mach-lookup", w.filterEach("global-name", services))
	w.allowMatching("ipc-posix-shm-read*", w.filterEach("ipc-posix-name", sharedBySystem), w.filterEach("ipc-posix-name-prefix", sharedBySystemPrefixes))
	w.allowMatching("ipc-posix-sem* ipc-posix-shm*", w.filterEach("ipc-posix-name-prefix", madeByPython))
	p.writeSockets(w)
	p.writeFiles(w)
	if w.err != nil {
		return "", w.err
	}
	return w.text.String(), nil
}

// writeSockets writes what may be connected.
func (p Policy) writeSockets(w *writer) {
	open := p.Sockets
	if p.Network || len(p.Ports) > 0 {
		open = append(slices.Clip(open), resolver)
		w.allowMatching("mach-lookup", w.filterEach("global-name", networkServices))
		w.allowMatching("sysctl-read", w.filterEach("sysctl-name-prefix", []string{"net.routetable."}))
		w.allowMatching("system-socket", []string{"(socket-domain AF_ROUTE)", "(require-all (socket-domain AF_SYSTEM) (socket-protocol 2))"})
		w.allowMatching("network-outbound", p.addressFilters("remote"))
		w.allowMatching("network-bind network-inbound", p.addressFilters("local"))
	}
	if p.AllSockets {
		w.writeLines("(allow network-outbound (remote unix-socket))", "(allow network-bind network-inbound (local unix-socket))")
		return
	}
	var filters []string
	for _, socket := range open {
		for _, path := range allSpellings(socket) {
			filters = append(filters, "(remote unix-socket (path-literal "+w.quoteText(path)+"))")
		}
	}
	w.allowMatching("network-outbound", filters)
}

// addressFilters returns the filters of one end of a connection.
func (p Policy) addressFilters(end string) (filters []string) {
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

// writeFiles writes what may be opened, changed and run.
func (p Policy) writeFiles(w *writer) {
	if p.Unbounded {
		w.writeLines("(allow file* process-exec*)", "(deny file-write-setugid)")
		return
	}
	var read, execute, change, move, control []string
	parents := map[string]bool{}
	for _, a := range p.Areas {
		a.Path = usualSpelling(a.Path)
		if path.Clean(a.Path) != a.Path || !path.IsAbs(a.Path) {
			w.failWith(fmt.Errorf("%q is no clean path", a.Path))
			continue
		}
		closed := p.closedWithin(a)
		if closed == nil {
			continue
		}
		opens := w.openArea(a, closed, false)
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
				move = append(move, w.openArea(a, closed, true)...)
			}
		}
		for _, spelling := range allSpellings(a.Path) {
			for up := path.Dir(spelling); up != "/"; up = path.Dir(up) {
				parents[up] = true
			}
		}
	}
	if p.Terminals {
		terminals := []string{"(literal " + w.quoteText("/dev/ptmx") + ")", "(literal " + w.quoteText("/dev/tty") + ")", "(regex " + w.quoteText("^/dev/ttys[0-9]+$") + ")"}
		w.writeLines("(allow pseudo-tty)")
		read, change, control = append(read, terminals...), append(change, terminals...), append(control, terminals...)
	}
	w.allowMatching(looks, []string{"(vnode-type SYMLINK)"}, w.filterEach("literal", sortedKeys(parents)))
	w.allowMatching(reads, []string{"(literal " + w.quoteText("/") + ")"}, read)
	w.allowMatching("process-exec*", execute)
	w.allowMatching("file-ioctl", control)
	w.allowMatching(changes, change)
	w.allowMatching(moves, move)
}

// closedWithin returns the closed names in an area; nil if the area is one of them. An area that lies in one opens: it was meant to.
func (p Policy) closedWithin(a Area) []Name {
	found := []Name{}
	for _, c := range p.Closed {
		for _, c.Path = range allSpellings(c.Path) {
			switch {
			case c.Missing == "" && c.Path == a.Path:
				return nil
			case a.Dir && containsPath(a.Path, c.Path):
				found = append(found, c)
			}
		}
	}
	if a.Path != "/" && a.Path != dataVolume && containsPath(a.Path, dataVolume) {
		found = append(found, Name{Path: dataVolume}) // the user's files are not meant by a folder of the system
	}
	return found
}

// openArea returns the filters of an area without what is closed in it. moving: of what may be made, moved and removed in
// it. The area itself may not, because what has its name next would be open.
func (w *writer) openArea(a Area, closed []Name, moving bool) (filters []string) {
	for _, top := range allSpellings(a.Path) {
		if !a.Dir {
			filters = append(filters, "(literal "+w.quoteText(top)+")")
			continue
		}
		all := []string{"(subpath " + w.quoteText(top) + ")"}
		not := func(filter string) {
			if filter = "(require-not " + filter + ")"; !slices.Contains(all, filter) {
				all = append(all, filter)
			}
		}
		if moving {
			not("(literal " + w.quoteText(top) + ")")
		}
		for _, c := range closed {
			w.exceptName(top, c, moving, not)
		}
		if len(all) == 1 {
			filters = append(filters, all[0])
		} else {
			filters = append(filters, "(require-all "+strings.Join(all, " ")+")")
		}
	}
	return filters
}

// exceptName takes a name out of an area, with all that lies in it. moving: its parents in the area as well.
func (w *writer) exceptName(top string, c Name, moving bool, not func(filter string)) {
	for _, at := range allSpellings(c.Path) {
		if !containsPath(top, at) {
			continue
		}
		parent := path.Dir(at)
		if c.Missing == "" {
			not("(subpath " + w.quoteText(at) + ")")
		} else {
			parent = at
			pattern := "^" + exactPattern(strings.TrimSuffix(at, "/"))
			parts := strings.Split(c.Missing, "/")
			for i, part := range parts {
				pattern += "/" + anyCase(part)
				if i == len(parts)-1 {
					not("(regex " + w.quoteText(pattern+"(/|$)") + ")")
				} else if moving {
					not("(regex " + w.quoteText(pattern+"$") + ")")
				}
			}
		}
		for ; moving && parent != top && containsPath(top, parent); parent = path.Dir(parent) {
			not("(literal " + w.quoteText(parent) + ")")
		}
	}
}

// A writer collects a profile, or why there is none.
type writer struct {
	text strings.Builder
	err  error
}

func (w *writer) failWith(err error) { w.err = errors.Join(w.err, err) }

func (w *writer) writeLines(lines ...string) {
	for _, line := range lines {
		w.text.WriteString(line + "\n")
	}
}

// allowMatching writes a rule that allows what any of the filters matches: nothing, if there are none.
func (w *writer) allowMatching(operations string, lists ...[]string) {
	if filters := slices.Concat(lists...); len(filters) > 0 {
		w.writeLines("(allow " + operations + "\n  " + strings.Join(filters, "\n  ") + ")")
	}
}

// filterEach returns a filter for each of some strings.
func (w *writer) filterEach(filter string, values []string) (filters []string) {
	for _, value := range values {
		filters = append(filters, "("+filter+" "+w.quoteText(value)+")")
	}
	return filters
}
