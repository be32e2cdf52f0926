package catalog

import (
	"net/url"
	"strings"
)

// ownScheme begins a URI that names its server: mcphub://SERVER/URI. That of an app
// keeps its scheme, by which clients know it: ui://SERVER/REST.
const (
	ownScheme = "mcphub://"
	uiScheme  = "ui://"
)

// serverURI returns a URI, or template, that names its server too.
func serverURI(child, uri string) string {
	if !hasScheme(uri, uiScheme) {
		return ownScheme + url.PathEscape(child) + "/" + uri
	}
	return insertServer(uiScheme, child, uri)
}

// parseServerURI reads such a URI. One of an app may look like one and be none.
func parseServerURI(uri string) (child, rest string, ok bool) {
	if !strings.HasPrefix(uri, ownScheme) {
		return cutServer(uiScheme, uri)
	}
	child, rest, ok = cutServer(ownScheme, uri)
	return child, strings.TrimPrefix(rest, ownScheme), ok
}

// hasScheme reports whether a URI has a scheme, which is spelled with its slashes.
func hasScheme(uri, scheme string) bool {
	return len(uri) >= len(scheme) && strings.EqualFold(uri[:len(scheme)], scheme)
}

// insertServer puts the name of a server behind the scheme of a URI.
func insertServer(scheme, child, uri string) string {
	return uri[:len(scheme)] + url.PathEscape(child) + "/" + uri[len(scheme):]
}

// cutServer takes it out again. A URI may look like one with such a name and be none.
func cutServer(scheme, uri string) (child, rest string, ok bool) {
	if !hasScheme(uri, scheme) {
		return "", "", false
	}
	child, rest, ok = strings.Cut(uri[len(scheme):], "/")
	if name, err := url.PathUnescape(child); ok && err == nil {
		return name, uri[:len(scheme)] + rest, true
	}
	return "", "", false
}
