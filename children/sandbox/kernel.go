package sandbox

import (
	"fmt"
	"sync"
)

// A Kernel describes what this system can enforce.
type Kernel struct {
	ABI         int    // version of Landlock; 0: none
	Why         string // why there is none
	Filters     bool   // system calls can be filtered (seccomp)
	Drops       bool   // this process has no capabilities, or can give them all up
	WhyNoNotify string // why it does not ask the hub about system calls; "": it does

	// Seatbelt tries whether the sandbox of macOS holds, and returns why not; nil if this system has none. It starts
	// programs when it is called for the first time.
	Seatbelt func() error
}

// WhyNothing returns why this system holds nothing; "" if it holds something.
func (k Kernel) WhyNothing() string {
	switch {
	case k.ABI > 0:
		return ""
	case k.Seatbelt == nil:
		return k.Why
	}
	if err := k.Seatbelt(); err != nil {
		return "Seatbelt is not used: " + err.Error()
	}
	return ""
}

// Excepts reports whether the kernel holds what is withheld inside of what is open.
func (k Kernel) Excepts() bool { return k.Seatbelt != nil }

// Asks reports whether the kernel confines files, and asks the hub about system calls: see [File].
func (k Kernel) Asks() bool { return k.ABI > 0 && k.Filters && k.WhyNoNotify == "" }

// CurrentKernel is the kernel that this process runs on. It is looked at once.
var CurrentKernel = sync.OnceValue(func() Kernel { return Look(landlockVersion) })

// versions of Landlock from which something is enforced
const (
	abiRefer    = 2 // moves and links between directories can be allowed
	abiTruncate = 3 // truncate(2)
	abiPorts    = 4 // TCP ports
	abiIoctl    = 5 // control of devices
	abiScopes   = 6 // signals and abstract sockets
	abiSockets  = 9 // sockets in the file system
)

// Lacks returns what of a Profile this kernel does not enforce. required: it is too
// little for a child that must be confined. reach reports which services listen on
// sockets in the file system: see Reach. It is asked only if they are not held.
func (k Kernel) Lacks(p *Profile, reach func() []string) (lacks []string, required bool) {
	lack := func(serious bool, format string, args ...any) {
		lacks, required = append(lacks, fmt.Sprintf(format, args...)), required || serious
	}
	if why := k.WhyNothing(); why != "" {
		lack(true, "no kernel enforcement here: %s", why)
		return lacks, required
	}
	if k.Seatbelt != nil {
		lack(false, "Seatbelt holds it as far as the hub's own attempts to get out show; it is not proved")
		if len(p.Network.Ports) > 0 && !p.Network.On {
			lack(false, "which host is spoken to is not held")
		}
		if p.Sockets {
			lack(false, "unix sockets are on: %s", whatReaches(reach()))
		}
		return lacks, required
	}
	if !k.Drops {
		lack(true, "the hub runs as root and cannot give up all capabilities")
	}
	if k.ABI < abiTruncate {
		lack(true, "files outside can be truncated: Landlock has ABI %d here, and holds that from %d", k.ABI, abiTruncate)
	}
	if k.ABI < abiIoctl {
		lack(false, "control of open devices is not held: Landlock has ABI %d here, and holds that from %d", k.ABI, abiIoctl)
	}
	if k.ABI < abiScopes {
		lack(false, "signals to other processes are not held: Landlock has ABI %d here, and holds that from %d", k.ABI, abiScopes)
	}
	ports := !p.Network.On && len(p.Network.Ports) > 0
	if ports && k.ABI < abiPorts {
		lack(true, "TCP ports are not held: Landlock has ABI %d here, and holds that from %d", k.ABI, abiPorts)
	}
	if ports {
		lack(false, "UDP and which host is spoken to are not held")
	}
	if !k.Filters {
		lack(true, "mounts, setuid programs, sockets, and what programs share through the kernel, are not held: system calls cannot be filtered (seccomp)")
	}
	if p.Attributes && k.WhyNoNotify != "" {
		lack(true, "modes, owners, times and attributes of files outside are not held: %s", k.WhyNoNotify)
	}
	if p.Sockets || !k.Filters && k.ABI < abiSockets {
		lack(false, "unix sockets are on: %s", whatReaches(reach()))
	}
	return lacks, required
}

// whatReaches returns a text about the services that can be reached by unix sockets.
func whatReaches(services []string) string {
	if len(services) == 0 {
		return "it can reach what listens on one, and nothing is known to"
	}
	return "it can reach " + joinNames(services) + ", and through them everything"
}
