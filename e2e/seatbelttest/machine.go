package seatbelttest

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A Machine is a disk of macOS and a profile that holds a process.
type Machine struct {
	*Disk
	Profile *Profile
	Order   Order
	Data    bool // the kernel judges what lies behind a firmlink by its path on the volume of data
}

// A Call is a system call, by its name in calls, and its arguments.
type Call struct{ Do, Path, To string }

// Allows reports whether each request of a call passes. A call on what is not there passes if nothing refuses it.
func (m *Machine) Allows(c Call) bool {
	return !slices.ContainsFunc(m.requestsOf(c), func(r Request) bool { return !m.Profile.Allows(r, m.Order) })
}

// onFile are the operations that calls ask of one path.
var onFile = map[string][]string{
	"read": {"file-read-data"}, "list": {"file-read-data"}, "stat": {"file-read-metadata"}, "getxattr": {"file-read-xattr"}, "map": {"file-read-data", "file-map-executable"},
	"write": {"file-write-data"}, "truncate": {"file-write-data"}, "chmod": {"file-write-mode"}, "chmod u+s": {"file-write-mode", "file-write-setugid"},
	"chown": {"file-write-owner"}, "utimes": {"file-write-times"}, "chflags": {"file-write-flags"}, "setxattr": {"file-write-xattr"},
	"remove": {"file-write-unlink"}, "create": {"file-write-create"}, "mkdir": {"file-write-create"}, "mkfifo": {"file-write-create"},
	"mknod": {"file-write-create", "file-mknod"}, "run": {"process-exec"}, "ioctl": {"file-ioctl"},
}

// requestsOf returns the questions that a call asks. A rename asks for the removal of one name and the making of the other, and for the
// removal of what had that name. Links on the way are read, which asks for their metadata.
func (m *Machine) requestsOf(c Call) (all []Request) {
	ask := func(operation, at string, follow bool) {
		real, links := m.Real(at, follow)
		for _, link := range links {
			all = append(all, Request{Operation: "file-read-metadata", Path: m.judgedPath(link), Kind: "SYMLINK"})
		}
		all = append(all, Request{Operation: operation, Path: m.judgedPath(real), Kind: m.Kind(real)})
	}
	if list, ok := onFile[c.Do]; ok {
		follow := c.Do != "remove" && c.Do != "create" && c.Do != "mkdir" && c.Do != "mkfifo" && c.Do != "mknod"
		for _, operation := range list {
			ask(operation, c.Path, follow)
		}
		if real, _ := m.Real(c.Path, true); c.Do == "write" && m.Kind(real) == "" {
			ask("file-write-create", c.Path, true)
		}
		return all
	}
	switch c.Do {
	case "rename":
		ask("file-write-unlink", c.Path, false)
		ask("file-write-create", c.To, false)
		if real, _ := m.Real(c.To, false); m.Kind(real) != "" {
			ask("file-write-unlink", c.To, false)
		}
	case "swap":
		for _, at := range []string{c.Path, c.To} {
			ask("file-write-unlink", at, false)
			ask("file-write-create", at, false)
		}
	case "exchange":
		ask("file-write-data", c.Path, true)
		ask("file-write-data", c.To, true)
	case "link":
		ask("file-link", c.Path, true)
		ask("file-write-create", c.To, false)
	case "clone":
		ask("file-clone", c.Path, true)
		ask("file-read-data", c.Path, true)
		ask("file-write-create", c.To, false)
	case "symlink": // its text is asked about when it is followed
		ask("file-write-create", c.To, false)
	case "bind socket":
		ask("file-write-create", c.Path, false)
		all = append(all, Request{Operation: "network-bind", Socket: "unix-socket", Path: all[len(all)-1].Path})
	case "connect socket":
		ask("network-outbound", c.Path, true)
		all[len(all)-1].Socket = "unix-socket"
	case "connect":
		port, _ := strconv.Atoi(c.Path)
		all = append(all, Request{Operation: "network-outbound", Socket: "tcp", Port: port})
	case "send by UDP":
		all = append(all, Request{Operation: "network-outbound", Socket: "ip"})
	case "read below":
		ask("file-read-data", path.Join(c.Path, c.To), true)
	case "process arguments":
		all = append(all, Request{Operation: "sysctl-read", Name: "kern.procargs2"})
	case "signal":
		all = append(all, Request{Operation: "signal", Others: true})
	case "trace", "task":
		all = append(all, Request{Operation: "mach-priv-task-port", Others: true})
	case "look up":
		all = append(all, Request{Operation: "mach-lookup", Name: c.Path})
	case "sysctl":
		all = append(all, Request{Operation: "sysctl-read", Name: c.Path})
	case "shared memory":
		all = append(all, Request{Operation: "ipc-posix-shm-write-create", Name: c.Path})
	case "ask":
		all = append(all, Request{Operation: c.Path, Others: c.To == "others"})
	default:
		panic(fmt.Sprintf("no call %q", c.Do))
	}
	return all
}

// judgedPath returns the path by which the kernel judges.
func (m *Machine) judgedPath(real string) string {
	if m.Data && slices.ContainsFunc(firmlinks, func(link string) bool { return real == link || strings.HasPrefix(real, link+"/") }) {
		return data + real
	}
	return real
}

const data = "/System/Volumes/Data"

// firmlinks are the firmlinks that the model knows.
var firmlinks = []string{"/Applications", "/Library", "/Users", "/Volumes", "/opt", "/private", "/usr/local"}

// A Disk has files, directories and links. Names in it have no case and no normalization.
type Disk struct{ nodes map[string]node }

type node struct{ path, kind, to string }

// NewDisk returns the disk of a machine without users.
func NewDisk() *Disk {
	d := &Disk{nodes: map[string]node{}}
	for _, dir := range append([]string{"/", "/bin", "/dev", "/private/etc", "/private/tmp", "/private/var/run", "/System/Library", "/usr/bin", "/usr/lib"}, firmlinks...) {
		d.Add("DIRECTORY", dir)
	}
	d.Link("/etc", "private/etc")
	d.Link("/tmp", "private/tmp")
	d.Link("/var", "private/var")
	d.Link("/Volumes/Macintosh HD", "/")
	d.Add("REGULAR-FILE", "/private/etc/master.passwd", "/usr/bin/git", "/bin/sh")
	d.Add("SOCKET", "/private/var/run/mDNSResponder")
	return d
}

// Add puts something at paths, and makes the directories above.
func (d *Disk) Add(kind string, paths ...string) {
	for _, at := range paths {
		for up := path.Dir(at); up != "/" && d.nodes[foldName(up)].kind == ""; up = path.Dir(up) {
			d.nodes[foldName(up)] = node{path: up, kind: "DIRECTORY"}
		}
		d.nodes[foldName(at)] = node{path: at, kind: kind}
	}
}

// Link puts a link at a path.
func (d *Disk) Link(at, to string) {
	d.Add("SYMLINK", at)
	d.nodes[foldName(at)] = node{path: at, kind: "SYMLINK", to: to}
}

// foldName returns what all spellings of a name have in common.
func foldName(path string) string { return cases.Fold().String(norm.NFD.String(path)) }

// Kind returns what is at a path without links; "" if nothing is.
func (d *Disk) Kind(real string) string { return d.nodes[foldName(real)].kind }

// Real returns a path without links, as the disk spells it, and the links that were followed. follow: the last name, too.
func (d *Disk) Real(at string, follow bool) (real string, links []string) {
	real, rest := "/", at
	for hops := 0; rest != ""; {
		name, after, _ := strings.Cut(strings.TrimLeft(rest, "/"), "/")
		rest = after
		switch name {
		case "", ".":
			continue
		case "..":
			real = path.Dir(real)
			continue
		}
		next := path.Join(real, name)
		if at := len(data); len(next) > at && foldName(next[:at]) == foldName(data) && slices.ContainsFunc(firmlinks, func(link string) bool { return foldName(next[at:]) == foldName(link) }) {
			next = next[at:]
		}
		n, ok := d.nodes[foldName(next)]
		switch {
		case !ok:
			real = next
		case n.kind == "SYMLINK" && (follow || strings.Trim(rest, "/") != "") && hops < 32:
			hops++
			links = append(links, n.path)
			if strings.HasPrefix(n.to, "/") {
				real = "/"
			}
			rest = n.to + "/" + rest
		default:
			real = n.path
		}
	}
	return real, links
}
