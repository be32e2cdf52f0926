package platform

import (
	"path"
	"strings"
)

// A RemoteURI is a URI of a folder as an editor names it whose files lie elsewhere: "vscode-remote://wsl+ubuntu/home/me", or
// "file://wsl.localhost/Ubuntu/home/me". Scheme and Host are in lower case. Path is decoded once, cleaned and absolute; a drive at its
// beginning is "/c:".
type RemoteURI struct{ Scheme, Host, Path string }

// ReadRemoteURI reads such a URI, also one of a file here. ok is false for what has no absolute path, and for what
// [Platform.ParseRootURI] would refuse: separators and NUL in octets, bad UTF-8, control characters.
func (p Platform) ReadRemoteURI(raw string) (u RemoteURI, ok bool) {
	if !IsFileURI(raw) && !HasOtherScheme(raw) {
		return u, false
	}
	scheme, rest, _ := strings.Cut(raw, ":")
	u.Scheme = strings.ToLower(scheme)
	host, local := strings.CutPrefix(rest, "//")
	if !local { // file:/x
		if u.Scheme != "file" {
			return u, false
		}
		host = ""
	} else {
		rest = ""
		if i := strings.IndexByte(host, '/'); i >= 0 {
			host, rest = host[:i], host[i:]
		}
	}
	if rest == "" && u.Scheme != "file" {
		rest = "/"
	}
	host, bad := p.decodePercent(host, false)
	name, worse := p.decodePercent(rest, true)
	if bad != "" || worse != "" || HasControl(host) || HasControl(name) || !strings.HasPrefix(name, "/") {
		return u, false
	}
	if u.Host = strings.ToLower(host); u.Host == "localhost" && u.Scheme == "file" {
		u.Host = ""
	}
	u.Path = path.Clean(name)
	if IsDrive(u.Path[1:]) {
		u.Path = "/" + strings.ToLower(u.Path[1:2]) + u.Path[2:]
	}
	return u, true
}

// Below returns what of u lies below another one, without a separator at its beginning; ok is false if u does not lie there.
func (u RemoteURI) Below(top RemoteURI) (rest string, ok bool) {
	if u.Scheme != top.Scheme || u.Host != top.Host {
		return "", false
	}
	rest, ok = strings.CutPrefix(u.Path, strings.TrimSuffix(top.Path, "/"))
	return strings.TrimPrefix(rest, "/"), ok && (rest == "" || rest[0] == '/')
}
