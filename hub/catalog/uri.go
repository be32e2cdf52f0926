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

// addressed is a URI, or template, that names its server too.
func addressed(child, uri string) string {
	scheme, rest := ownScheme, uri
	if isUI(uri) {
		scheme, rest = uri[:len(uiScheme)], uri[len(uiScheme):]
	}
	return scheme + url.PathEscape(child) + "/" + rest
}

// addressee reads such a URI. One of an app may look like one and be none.
func addressee(uri string) (child, rest string, ok bool) {
	scheme := ""
	if rest, ok = strings.CutPrefix(uri, ownScheme); !ok {
		if !isUI(uri) {
			return "", "", false
		}
		scheme, rest = uri[:len(uiScheme)], uri[len(uiScheme):]
	}
	child, rest, ok = strings.Cut(rest, "/")
	if name, err := url.PathUnescape(child); ok && err == nil {
		return name, scheme + rest, true
	}
	return "", "", false
}

// isUI reports whether a URI is that of an app.
func isUI(uri string) bool {
	return len(uri) >= len(uiScheme) && strings.EqualFold(uri[:len(uiScheme)], uiScheme)
}
