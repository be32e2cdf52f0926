package admission

import (
	"context"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// This file finds the address of a client.

// ClientAddress returns the address of the client of a request, without its port. A request that comes from a trusted proxy
// comes from the rightmost address in X-Forwarded-For or Forwarded that is not one of a trusted proxy: those further to
// the left are the client's own word. Where both headers are there and do not say the same, neither counts, because a
// proxy that writes one of them passes on the other as the client wrote it.
func ClientAddress(r *http.Request, trusted []netip.Prefix) string {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	last := from.Addr().Unmap().WithZone("")
	if !isTrusted(trusted, last) {
		return last.String()
	}
	hops, forwarded := hopsOf(r.Header.Values("X-Forwarded-For"), forwardedFor), hopsOf(r.Header.Values("Forwarded"), forwardedElement)
	switch {
	case len(hops) == 0:
		return lastHop(last, forwarded, trusted).String()
	case len(forwarded) == 0:
		return lastHop(last, hops, trusted).String()
	}
	if a, b := lastHop(last, hops, trusted), lastHop(last, forwarded, trusted); a == b {
		return a.String()
	}
	return last.String()
}

// maxHops is how many entries of a header count, from its end.
const maxHops = 32

// hopsOf returns the entries of a header, the last first.
func hopsOf(values []string, address func(string) (netip.Addr, bool)) (all []netip.Addr) {
	for _, v := range slices.Backward(values) {
		for _, part := range slices.Backward(strings.Split(v, ",")) {
			addr, ok := address(strings.TrimSpace(part))
			if !ok {
				addr = netip.Addr{} // nothing to the left of it counts
			}
			if all = append(all, addr); !ok || len(all) == maxHops {
				return all
			}
		}
	}
	return all
}

// lastHop goes back from a trusted proxy to the first address that is none.
func lastHop(proxy netip.Addr, hops []netip.Addr, trusted []netip.Prefix) netip.Addr {
	for _, hop := range hops {
		if !hop.IsValid() {
			return proxy
		}
		if proxy = hop; !isTrusted(trusted, hop) {
			return hop
		}
	}
	return proxy
}

func isTrusted(trusted []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(trusted, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// forwardedFor reads an entry of X-Forwarded-For: an address, which some write with a port.
func forwardedFor(text string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"))
	if err != nil {
		at, err := netip.ParseAddrPort(text)
		if err != nil {
			return addr, false
		}
		addr = at.Addr()
	}
	return addr.Unmap().WithZone(""), true
}

// forwardedElement reads an element of Forwarded (RFC 7239): for=ADDRESS among its pairs.
func forwardedElement(text string) (netip.Addr, bool) {
	for _, pair := range strings.Split(text, ";") {
		name, value, ok := strings.Cut(strings.TrimSpace(pair), "=")
		if ok && strings.EqualFold(name, "for") {
			return forwardedFor(strings.Trim(value, `"`))
		}
	}
	return netip.Addr{}, false
}

// PrincipalOn returns who was admitted last on the connection of a request; "" if that is not known.
func PrincipalOn(ctx context.Context) string {
	v := visitorOf(ctx)
	if v == nil {
		return ""
	}
	if known := v.known.Load(); known != nil {
		return *known
	}
	return ""
}
