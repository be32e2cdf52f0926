package remote

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"mcphub/internal/printable"
)

// This file is about servers that redirect.

// maxRedirects bounds how often one request is redirected.
const maxRedirects = 5

// redirected follows redirects as far as the credentials of a request may go with it. The request stays what it is:
// browsers make a GET of a POST that is answered with 301 or 302, which no server of MCP means. What the server has
// answered so it has not executed. 303 reports that it has, so it is not followed.
type redirected struct{ next http.RoundTripper }

// RoundTrip sends one request to where it belongs. A redirect that is not followed has no Location, or net/http would
// follow it, and says in the context of its request why.
func (t redirected) RoundTrip(r *http.Request) (*http.Response, error) {
	for n := 0; ; n++ {
		resp, err := t.next.RoundTrip(r)
		if err != nil || !isRedirect(resp) {
			return resp, err
		}
		to, hint := redirectTarget(r.URL, resp)
		if hint == "" && n == maxRedirects {
			hint = "it redirects too often"
		}
		var again *http.Request
		if hint == "" {
			again, err = moveRequest(r, to)
		}
		if hint != "" || err != nil {
			resp.Header.Del("Location")
			resp.Request = r.WithContext(context.WithValue(r.Context(), hintKey{}, hint))
			return resp, nil
		}
		drainRest(resp.Body)
		r = again
	}
}

func isRedirect(resp *http.Response) bool {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return resp.Header.Get("Location") != ""
	}
	return false
}

// redirectTarget returns the target of a redirect. hint: it is not followed, and that is why. It quotes no path, which may hold a secret.
func redirectTarget(from *url.URL, resp *http.Response) (to *url.URL, hint string) {
	to, err := from.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil:
		return nil, "it redirects to something that is no address"
	case mayGo(from, to) && resp.StatusCode != http.StatusSeeOther:
		return to, ""
	}
	place := to.Scheme + "://" + to.Host
	if strings.TrimSuffix(to.Path, "/") == strings.TrimSuffix(from.Path, "/") {
		place += " with the same path"
	}
	return nil, "it redirects to " + printable.Escape(place, 300) + `; if that is meant, write the address as "url" of this server in hub.json`
}

// mayGo reports whether what is meant for one address may be sent to another: on the same host by the same
// scheme and port, or from http to https where both have their usual port.
func mayGo(from, to *url.URL) bool {
	if !strings.EqualFold(from.Hostname(), to.Hostname()) || from.Hostname() == "" {
		return false
	}
	return from.Scheme == to.Scheme && portOf(from) == portOf(to) ||
		from.Scheme == "http" && to.Scheme == "https" && portOf(from) == "80" && portOf(to) == "443"
}

func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "http":
		return "80"
	case u.Scheme == "https":
		return "443"
	}
	return ""
}

// moveRequest returns the same request to another address.
func moveRequest(r *http.Request, to *url.URL) (*http.Request, error) {
	again := r.Clone(r.Context())
	again.URL = to
	if r.Host == r.URL.Host { // and none that hub.json names
		again.Host = to.Host
	}
	if r.GetBody != nil {
		body, err := r.GetBody()
		if err != nil {
			return nil, err
		}
		again.Body = body
	}
	return again, nil
}

type hintKey struct{}

// hintOn returns why a redirect was not followed; "" for any other answer.
func hintOn(resp *http.Response) string {
	if resp.Request == nil {
		return ""
	}
	hint, _ := resp.Request.Context().Value(hintKey{}).(string)
	return hint
}
