package uri

import (
	"net"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"sync"

	"mcphub/validate/chars"
)

// IsThisHost reports a name or an address of this machine, after user@ or without, as a URL or alone. Addresses are read as
// numbers in every form that programs take. Names are looked up in /etc/hosts, and never in the network.
func IsThisHost(name string) bool {
	if _, rest, ok := strings.Cut(name, "://"); ok {
		name = rest
	}
	name = strings.ToLower(strings.TrimSuffix(name[strings.LastIndexByte(name, '@')+1:], "/"))
	if i := strings.LastIndexByte(name, ':'); i >= 0 && (strings.IndexByte(name, ':') == i || strings.HasPrefix(name, "[") && name[i-1] == ']') {
		name = name[:i] // a port
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	if name == "" || strings.Trim(name, ":") == "" {
		return true
	}
	if at, ok := address(name); ok {
		return isOwn(at)
	}
	return ownNames()[name] || strings.HasSuffix(name, ".localhost")
}

// IsRemote reports user@host, what stands before the colon of an scp-like address.
func IsRemote(s string) bool {
	if len(s) > 320 {
		return false
	}
	i := strings.IndexByte(s, '@')
	return i > 0 && i < len(s)-1 && !strings.ContainsAny(s, "/\\ =,;{}") && !IsThisHost(s)
}

// address reads a number as inet_aton does: 127.1, 0x7f.1, 2130706433; or an IPv6 address.
func address(s string) (netip.Addr, bool) {
	if at, err := netip.ParseAddr(s); err == nil {
		return at.Unmap().WithZone(""), true
	}
	var number uint64
	parts := strings.Split(s, ".")
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 0, 32)
		switch {
		case err != nil || len(parts) > 4 || !chars.IsDigit(part[0]):
			return netip.Addr{}, false
		case i == len(parts)-1:
			number |= n
		default:
			number |= n << (24 - 8*i)
		}
	}
	return netip.AddrFrom4([4]byte{byte(number >> 24), byte(number >> 16), byte(number >> 8), byte(number)}), true
}

// isOwn reports an address that leads to this machine.
func isOwn(at netip.Addr) bool {
	if at.IsLoopback() || at.IsUnspecified() {
		return true
	}
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Unmap() == at {
			return true
		}
	}
	return false
}

// ownNames are the names of this machine, the names in /etc/hosts among them.
var ownNames = sync.OnceValue(func() map[string]bool {
	names := chars.WordSet("localhost localhost.localdomain localhost4 localhost6")
	own, _ := os.Hostname()
	names[strings.ToLower(own)] = true
	hosts, _ := os.ReadFile("/etc/hosts")
	for line := range strings.Lines(string(hosts)) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) < 2 {
			continue
		}
		if at, ok := address(fields[0]); ok && isOwn(at) {
			for _, name := range fields[1:] {
				names[strings.ToLower(name)] = true
			}
		}
	}
	return names
})
