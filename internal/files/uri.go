package files

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// isFileURI reports whether s is spelled as a file: URI, in any letter case.
func isFileURI(s string) bool {
	return len(s) >= 5 && strings.EqualFold(s[:5], "file:")
}

// uriMarks keeps characters that real clients leave unescaped in a path from
// being read as the start of a query or a fragment.
var uriMarks = strings.NewReplacer("#", "%23", "?", "%3F")

// pathFromURI returns the absolute local path that a file: URI names (RFC 8089).
// The authority must be empty or localhost (on Windows another host makes a UNC
// path); percent escapes are decoded exactly once.
func pathFromURI(raw string) (string, error) {
	if !isFileURI(raw) {
		return "", fmt.Errorf("%q is not a file: URI", raw)
	}
	u, err := url.Parse(uriMarks.Replace(raw))
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return "", fmt.Errorf("%q cannot be read as a URI: %w", raw, err)
	}
	if u.Opaque != "" || !strings.HasPrefix(u.Path, "/") {
		return "", fmt.Errorf("%q names no absolute path: write file:///path", raw)
	}
	if strings.ContainsRune(u.Path, 0) {
		return "", fmt.Errorf("%q contains a NUL", raw)
	}
	if u.User != nil || u.Port() != "" {
		return "", fmt.Errorf("%q has a user or a port: write file:///path", raw)
	}
	host := u.Hostname()
	local := host == "" || strings.EqualFold(host, "localhost")
	if runtime.GOOS == "windows" {
		return windowsPath(u.Path, host, local), nil
	}
	if !local {
		return "", fmt.Errorf("%q is on another host (%s): only local files can be served", raw, host)
	}
	return filepath.Clean(u.Path), nil
}

// windowsPath turns the path of a URI into a drive or UNC path: /C:/x becomes
// C:\x, and a host makes \\host\share\x.
func windowsPath(p, host string, local bool) string {
	if !local {
		return filepath.Clean(`\\` + host + filepath.FromSlash(p))
	}
	if len(p) >= 3 && p[0] == '/' && p[2] == ':' {
		p = p[1:]
	}
	return filepath.Clean(filepath.FromSlash(p))
}

// uriFromPath is the canonical file:// spelling of an absolute path.
func uriFromPath(p string) string {
	p = filepath.ToSlash(p)
	if !strings.HasPrefix(p, "/") {
		p = "/" + p // a drive letter
	}
	return (&url.URL{Scheme: "file", Path: p}).String()
}
