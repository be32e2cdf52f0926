package rootsmgr

import (
	"slices"
	"strings"

	"mcphub/rootsmgr/platform"
)

// A Mapping describes which directories of this machine the roots of a client mean whose files an editor names otherwise: a
// remote workspace, or Windows beside WSL. It is the operator's word alone. The zero Mapping maps nothing.
//
// What a root is mapped to is looked at as any other root is.
type Mapping struct {
	Dirs []MappedDir
	WSL  WSL
}

// A MappedDir is what lies at and below a URI.
type MappedDir struct {
	From string // such as "vscode-remote://ssh-remote+host/home/me"
	To   string // absolute
}

// A WSL is the distribution that the hub runs in. The zero WSL is none.
type WSL struct {
	Distro string // as WSL_DISTRO_NAME has it
	Drives string // the folder that holds C: as "c", with a separator at its end; "" if there is none
}

func (mapping Mapping) equalTo(o Mapping) bool {
	return slices.Equal(mapping.Dirs, o.Dirs) && mapping.WSL == o.WSL
}

// mapPath returns the path that a client's root is mapped to; ok is false if it means what it says. Of several directories
// that hold the root the innermost counts.
func (mapping Mapping) mapPath(p platform.Platform, raw string) (path string, ok bool) {
	if len(mapping.Dirs) == 0 && mapping.WSL == (WSL{}) {
		return "", false
	}
	u, ok := p.ReadRemoteURI(raw)
	if !ok {
		return "", false
	}
	longest := -1
	for _, d := range mapping.Dirs {
		top, sound := p.ReadRemoteURI(d.From)
		rest, below := u.Below(top)
		if !sound || !below || len(top.Path) <= longest {
			continue
		}
		to := p.Clean(d.To)
		at := p.Clean(p.Join(to, p.FromSlash(rest)))
		if at != to && !strings.HasPrefix(at, strings.TrimSuffix(to, string(p.Sep()))+string(p.Sep())) {
			continue // by a separator that is none in a URI
		}
		longest, path = len(top.Path), at
	}
	if longest >= 0 {
		return path, true
	}
	return mapping.WSL.mapURI(u)
}

// mapURI returns the path by which a distribution names what Windows names by a URI.
func (wsl WSL) mapURI(u platform.RemoteURI) (path string, ok bool) {
	switch {
	case wsl.Distro == "":
	case u.Scheme == "vscode-remote":
		return u.Path, u.Host == "wsl+"+strings.ToLower(wsl.Distro)
	case u.Scheme != "file":
	case u.Host == "wsl.localhost" || u.Host == "wsl$":
		distro, rest, _ := strings.Cut(u.Path[1:], "/")
		return "/" + rest, strings.EqualFold(distro, wsl.Distro)
	case u.Host == "" && wsl.Drives != "" && platform.IsDrive(u.Path[1:]) && (len(u.Path) == 3 || u.Path[3] == '/'):
		return wsl.Drives + u.Path[1:2] + u.Path[3:], true
	}
	return "", false
}

// Unmapped reports whether roots.map could make a root of an entry that gave none: from is its URI, and to the path that it
// most likely has here. Addresses of the web are no workspaces.
func (skipped Skipped) Unmapped(p platform.Platform) (from, to string, ok bool) {
	u, ok := p.ReadRemoteURI(skipped.Raw)
	drive := p != platform.Windows && u.Scheme == "file" && u.Host == "" && platform.IsDrive(strings.TrimPrefix(u.Path, "/"))
	if !ok || u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "file" && u.Host == "" && !drive {
		return "", "", false
	}
	if distro, rest, _ := strings.Cut(u.Path[1:], "/"); u.Scheme == "file" && (u.Host == "wsl.localhost" || u.Host == "wsl$") && distro != "" {
		return skipped.Raw, "/" + rest, true
	}
	if drive {
		return skipped.Raw, "/mnt/" + u.Path[1:2] + u.Path[3:], true
	}
	return skipped.Raw, u.Path, true
}
