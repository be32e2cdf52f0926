package seatbelttest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Profile is one that was read.
type Profile struct {
	rules     []rule
	byDefault bool
}

type rule struct {
	allow      bool
	operations []string
	filter     filter
}

// A filter matches some requests.
type filter func(r Request) bool

// A Request is a question of the kernel. Which members count depends on the operation.
type Request struct {
	Operation string
	Path      string // of a file, without links; of a unix socket
	Kind      string // of a file, as vnode-type names it
	Name      string // of a service, a sysctl, or what is shared
	Others    bool   // the process that it is about has another sandbox, or none
	Socket    string // "ip", "tcp" or "unix-socket"
	Port      int
	Domain    string // of a socket
	Protocol  string
}

// An Order describes which of several rules that match decides.
type Order int

// The orders. See the package.
const (
	SpecificWins Order = iota
	LastWins
)

// operations are the operations that the model knows. A profile with another one is refused, as sandbox-exec does.
var operations = strings.Fields(`
	appleevent-send authorization-right-obtain device-camera device-microphone distributed-notification-post dynamic-code-generation
	file-chroot file-clone file-ioctl file-issue-extension file-link file-map-executable file-mknod file-mount file-mount-update file-read-data
	file-read-metadata file-read-xattr file-revoke file-search file-test-existence file-unmount file-write-create file-write-data
	file-write-finderinfo file-write-flags file-write-mode file-write-owner file-write-setugid file-write-times file-write-unlink file-write-xattr
	fs-quota-get iokit-get-properties iokit-open iokit-set-properties ipc-posix-sem ipc-posix-shm-read-data ipc-posix-shm-read-metadata
	ipc-posix-shm-write-create ipc-posix-shm-write-data ipc-posix-shm-write-unlink ipc-sysv-msg ipc-sysv-sem ipc-sysv-shm job-creation lsopen mach-host-exception-port-set
	mach-host-special-port-set mach-lookup mach-per-user-lookup mach-priv-host-port mach-priv-task-port mach-register mach-task-name
	network-bind network-inbound network-outbound nvram-delete nvram-get nvram-set process-codesigning-status-get process-exec process-exec-interpreter process-fork
	process-info-listpids process-info-pidfdinfo process-info-pidinfo process-info-rusage process-info-setcontrol pseudo-tty signal socket-ioctl
	sysctl-read sysctl-write system-acct system-audit system-fsctl system-socket user-preference-read user-preference-write`)

// coversOperation reports whether the name of a rule stands for an operation.
func coversOperation(name, operation string) bool {
	begin, all := strings.CutSuffix(name, "*")
	return name == operation || all && (operation == begin || strings.HasPrefix(operation, begin+"-"))
}

// Allows reports whether the profile lets a request pass.
func (p *Profile) Allows(r Request, o Order) bool {
	verdict, exact := p.byDefault, 0
	for _, rule := range p.rules {
		for _, name := range rule.operations {
			if !coversOperation(name, r.Operation) || !rule.filter(r) {
				continue
			}
			if rank := len(name); o == LastWins || rank >= exact {
				verdict, exact = rule.allow, rank
			}
		}
	}
	return verdict
}

// Parse reads a profile. It fails if sandbox-exec would, as far as that is known.
func Parse(text string) (*Profile, error) {
	forms, err := readForms(text)
	if err != nil {
		return nil, err
	}
	p := &Profile{}
	if len(forms) == 0 || fmt.Sprint(forms[0]) != "[version 1]" {
		return nil, fmt.Errorf("a profile begins with its version")
	}
	for _, form := range forms[1:] {
		list, ok := form.([]any)
		if !ok || len(list) < 2 {
			return nil, fmt.Errorf("%v is no rule", form)
		}
		r := rule{allow: list[0] == "allow"}
		if list[0] != "allow" && list[0] != "deny" {
			return nil, fmt.Errorf("%v is no rule", form)
		}
		var filters []filter
		for _, part := range list[1:] {
			switch part := part.(type) {
			case string:
				r.operations = append(r.operations, part)
			default:
				f, err := parseFilter(part)
				if err != nil {
					return nil, err
				}
				filters = append(filters, f)
			}
		}
		if slices.Equal(r.operations, []string{"default"}) {
			p.byDefault = r.allow
			continue
		}
		for _, name := range r.operations {
			if !slices.ContainsFunc(operations, func(o string) bool { return coversOperation(name, o) }) && name != "mach-host*" {
				return nil, fmt.Errorf("unbound variable: %s", name)
			}
		}
		r.filter = anyOf(filters)
		if filters == nil {
			r.filter = func(Request) bool { return true }
		}
		p.rules = append(p.rules, r)
	}
	return p, nil
}

func anyOf(filters []filter) filter {
	return func(r Request) bool { return slices.ContainsFunc(filters, func(f filter) bool { return f(r) }) }
}

// parseFilter reads a filter.
func parseFilter(form any) (filter, error) {
	list, ok := form.([]any)
	if !ok || len(list) == 0 {
		return nil, fmt.Errorf("%v is no filter", form)
	}
	kind := fmt.Sprint(list[0])
	switch kind {
	case "require-all", "require-any", "require-not":
		return parseCombined(kind, list[1:])
	case "remote", "local":
		return parseSocket(list[1:])
	}
	value, ok := textAt(list, 1)
	if !ok || len(list) != 2 {
		return nil, fmt.Errorf("%v takes one value", form)
	}
	switch kind {
	case "literal":
		return func(r Request) bool { return r.Path == value }, nil
	case "subpath":
		return func(r Request) bool {
			rest, below := strings.CutPrefix(r.Path, strings.TrimSuffix(value, "/"))
			return r.Path != "" && below && (rest == "" || rest[0] == '/')
		}, nil
	case "regex":
		expression, err := regexp.Compile(value)
		if err != nil {
			return nil, err
		}
		return func(r Request) bool { return expression.MatchString(r.Path) }, nil
	case "vnode-type":
		return func(r Request) bool { return r.Kind == value }, nil
	case "global-name", "sysctl-name", "ipc-posix-name":
		return func(r Request) bool { return r.Name == value }, nil
	case "sysctl-name-prefix", "ipc-posix-name-prefix":
		return func(r Request) bool { return strings.HasPrefix(r.Name, value) }, nil
	case "target":
		if value != "same-sandbox" && value != "self" {
			return nil, fmt.Errorf("target %s", value)
		}
		return func(r Request) bool { return !r.Others }, nil
	case "socket-domain":
		return func(r Request) bool { return r.Domain == value }, nil
	case "socket-protocol":
		return func(r Request) bool { return r.Protocol == value }, nil
	}
	return nil, fmt.Errorf("unbound variable: %s", kind)
}

// parseCombined reads a filter of filters.
func parseCombined(kind string, forms []any) (filter, error) {
	var filters []filter
	for _, form := range forms {
		f, err := parseFilter(form)
		if err != nil {
			return nil, err
		}
		filters = append(filters, f)
	}
	switch {
	case len(filters) == 0 || kind == "require-not" && len(filters) != 1:
		return nil, fmt.Errorf("%s of %d filters", kind, len(filters))
	case kind == "require-not":
		return func(r Request) bool { return !filters[0](r) }, nil
	case kind == "require-any":
		return anyOf(filters), nil
	}
	return func(r Request) bool {
		return !slices.ContainsFunc(filters, func(f filter) bool { return !f(r) })
	}, nil
}

// parseSocket reads what follows remote or local.
func parseSocket(parts []any) (filter, error) {
	kind, _ := textAt(parts, 0)
	switch {
	case kind == "ip" && len(parts) == 1:
		return func(r Request) bool { return r.Socket == "ip" || r.Socket == "tcp" }, nil
	case kind == "tcp" && len(parts) == 2:
		value, _ := textAt(parts, 1)
		return func(r Request) bool { return r.Socket == "tcp" && value == fmt.Sprintf("*:%d", r.Port) }, nil
	case kind == "unix-socket" && len(parts) == 1:
		return func(r Request) bool { return r.Socket == kind }, nil
	case kind == "unix-socket" && len(parts) == 2:
		list, _ := parts[1].([]any)
		value, ok := textAt(list, 1)
		if ok && list[0] == "path-literal" {
			return func(r Request) bool { return r.Socket == kind && r.Path == value }, nil
		}
	}
	return nil, fmt.Errorf("%v is no address", parts)
}

// textAt returns a string or a word of a list.
func textAt(list []any, at int) (string, bool) {
	if at >= len(list) {
		return "", false
	}
	switch value := list[at].(type) {
	case quoted:
		return string(value), true
	case string:
		return value, true
	}
	return "", false
}
