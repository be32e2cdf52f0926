package oauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"mcphub/internal/printable"
	"mcphub/internal/trust"
)

// Bounds of one request.
const (
	requestTime = 30 * time.Second
	dialTime    = 10 * time.Second
	maxAnswer   = 1 << 20 // bytes
	maxHops     = 5
)

// allowedHosts describes which addresses may be spoken to: public ones, and the ones that
// hub.json names, by host and port: what else listens on a machine is not meant.
type allowedHosts map[string]bool

// loopback stands for all names and addresses of this machine.
const loopback = "localhost"

func reachOf(addresses ...string) allowedHosts {
	r := allowedHosts{}
	for _, text := range addresses {
		if u, err := url.Parse(text); err == nil && u.Host != "" {
			r[placeOf(u)] = true
		}
	}
	return r
}

// hostOf returns how a host is compared.
func hostOf(name string) string {
	name = strings.ToLower(strings.TrimSuffix(name, "."))
	if ip, err := netip.ParseAddr(name); err == nil && ip.Unmap().IsLoopback() || strings.HasSuffix(name, ".localhost") {
		return loopback
	}
	return name
}

// placeOf returns how a host with its port is compared.
func placeOf(u *url.URL) string { return hostOf(u.Hostname()) + ":" + portOf(u) }

// checkAddress returns what is wrong with an address that someone else has named.
func (r allowedHosts) checkAddress(u *url.URL) error {
	host, named := hostOf(u.Hostname()), r[placeOf(u)]
	switch {
	case host == "" || u.Opaque != "":
		return fmt.Errorf("%s is no address", showText(u.Redacted()))
	case strings.ContainsFunc(host, func(r rune) bool { return r > unicode.MaxASCII }):
		return fmt.Errorf("%s is not in ASCII: other programs, a proxy among them, may read another name or an address; write it as it is in ASCII, with xn--", printable.Escape(host, 100))
	case u.User != nil:
		return errors.New("it holds a user name or a password")
	case host == loopback && !named:
		return privateError(u.Host)
	case u.Scheme == "http" && host == loopback:
	case u.Scheme != "https":
		return fmt.Errorf("%s is not https", showText(u.Redacted()))
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !named && !isPublic(ip) {
		return privateError(u.Host)
	}
	if _, err := netip.ParseAddr(u.Hostname()); err != nil && isNumeric(host) && !named {
		return fmt.Errorf("%s is a number, which some programs, a proxy among them, take for an address", printable.Escape(host, 100))
	}
	return nil
}

// isNumeric reports whether a name ends with a number, as addresses of IPv4 do that are
// written in another way (127.1, 0x7f.1, 2130706433). No domain does.
func isNumeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	_, err := strconv.ParseUint(last, 0, 64)
	return err == nil || last != "" && strings.Trim(last, "0123456789") == ""
}

func (r allowedHosts) checkText(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("%s is no address", showText(text))
	}
	return r.checkAddress(u)
}

// A privateError is the error of an address, with its port, that only hub.json may name.
type privateError string

func (e privateError) Error() string {
	return string(e) + " is a private address, which a server may not send this program to; hub.json names those that it may, as \"url\" of the server and as its \"auth\": {\"issuer\": ...}"
}

// reserved are the blocks that are not, or not only, public addresses of hosts
// (IANA special-purpose registries), beside the ones that netip knows.
var reserved = func() (all []netip.Prefix) {
	for _, text := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	} {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}()

// unicast6 is all of IPv6 that is given to hosts. What lies outside has an address of
// IPv4 in it, in one of several ways, or is no one's.
var unicast6 = netip.MustParsePrefix("2000::/3")

// isPublic reports whether an address is one of the public network.
func isPublic(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !unicast6.Contains(ip) {
		return false
	}
	for _, block := range reserved {
		if block.Contains(ip) {
			return false
		}
	}
	return true
}

// makeClient makes the HTTP client for the addresses in reach. What secures the connections to the server is for it alone; its
// authority counts for the others too, which are of the same house.
func (r allowedHosts) makeClient(server *url.URL, set trust.Settings) (*http.Client, error) {
	own, err := set.Server(server.Hostname(), nil) // who connects to the server itself warns
	if err != nil {
		return nil, err
	}
	others, err := set.Authority()
	if err != nil {
		return nil, err
	}
	g := &guardedTransport{reach: r, proxy: http.ProxyFromEnvironment, others: r.makeWays(others)}
	if own != nil {
		g.proxy, g.server, g.own = trust.Proxy, placeOf(server), r.makeWays(own)
	}
	return &http.Client{Timeout: requestTime, CheckRedirect: followRedirect, Transport: g}, nil
}

// ways are the two to a host: by itself, and by a proxy.
type ways struct{ direct, proxied *http.Transport }

func (r allowedHosts) makeWays(secured *tls.Config) ways {
	return ways{
		direct: &http.Transport{
			DialContext: r.dialAllowed, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true, TLSClientConfig: secured,
			DisableKeepAlives: true, // requests are few, and nothing is to be closed
		},
		proxied: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true, DisableKeepAlives: true, TLSClientConfig: secured.Clone(),
			DialContext: (&net.Dialer{Timeout: dialTime}).DialContext,
		},
	}
}

// followRedirect lets what was only asked for be found elsewhere.
func followRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case via[0].Method != http.MethodGet:
		return fmt.Errorf("it redirects to %s, and what is sent holds secrets", req.URL.Host)
	case len(via) > maxHops:
		return errors.New("it redirects too often")
	}
	return nil
}

// guardedTransport sends each request, those after a redirect too, only if it may go.
type guardedTransport struct {
	reach  allowedHosts
	proxy  func(*http.Request) (*url.URL, error)
	server string // the place of the server; "": nothing secures it beyond what secures the others
	own    ways   // to it
	others ways
}

// RoundTrip sends one request.
func (w *guardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := w.reach.checkAddress(req.URL); err != nil {
		return nil, err
	}
	by := w.others
	if w.server != "" && req.URL.Scheme == "https" && placeOf(req.URL) == w.server {
		by = w.own
	}
	send := by.direct
	proxy, err := w.proxy(req)
	if err != nil && w.server != "" {
		return nil, err
	}
	if err == nil && proxy != nil {
		// The proxy dials, so a name can only be looked up beforehand. One that is not
		// known here is left to the proxy.
		if ips, err := net.DefaultResolver.LookupNetIP(req.Context(), "ip", req.URL.Hostname()); err == nil {
			for _, ip := range ips {
				if !w.reach[placeOf(req.URL)] && !isPublic(ip) {
					return nil, privateError(req.URL.Host)
				}
			}
		}
		send = by.proxied
	}
	resp, err := send.RoundTrip(req)
	if err == nil {
		resp.Body = bounded{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

type bounded struct {
	io.Reader
	io.Closer
}

// dialAllowed connects, unless the name leads to an address that it may not lead to.
func (r allowedHosts) dialAllowed(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTime}
	if host, port, err := net.SplitHostPort(address); err != nil || !r[hostOf(host)+":"+port] {
		d.Control = func(_, to string, _ syscall.RawConn) error {
			if at, err := netip.ParseAddrPort(to); err != nil || !isPublic(at.Addr()) {
				return privateError(address)
			}
			return nil
		}
	}
	return d.DialContext(ctx, network, address)
}
