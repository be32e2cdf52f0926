package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mcphub/internal/printable"
)

// Official is the address of the official registry.
const Official = "https://registry.modelcontextprotocol.io"

// Bounds of what a registry may answer.
const (
	maxEntry  = 1 << 20 // bytes of one server
	maxPage   = 4 << 20 // bytes of one page of a list
	maxHeader = 64 << 10
	maxPages  = 10 // of one search
	pageSize  = 100
	maxCursor = 1 << 10 // bytes
	maxHops   = 3       // redirects
	maxTime   = 30 * time.Second
)

// ErrNotFound means that a registry has no server of that name.
var ErrNotFound = errors.New("the registry has no such server")

// A Client asks one registry.
type Client struct {
	base *url.URL
	http *http.Client
	time time.Duration // that a single question may take, all its pages together
}

// New returns a client of the registry at an address: https, or http to this machine. An
// address that has more than a host and a path is an error.
func New(address string) (*Client, error) {
	base, err := url.Parse(address)
	switch {
	case err != nil || base.Host == "" || base.Opaque != "":
		return nil, fmt.Errorf("%s is no address of a registry: want https://HOST", printable.Quote(address))
	case base.User != nil || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("the address of a registry holds a user, a query or a fragment: want https://HOST")
	case base.Scheme != "https" && !(base.Scheme == "http" && isLoopback(base.Hostname())):
		return nil, fmt.Errorf("%s: a registry is asked by https; http is for this machine alone", printable.Quote(address))
	}
	return &Client{base: base, time: maxTime, http: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableKeepAlives: true,
			MaxResponseHeaderBytes: maxHeader, TLSHandshakeTimeout: 10 * time.Second,
			DialContext: (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			switch {
			case req.URL.Scheme != base.Scheme || req.URL.Host != base.Host:
				return fmt.Errorf("it redirects to %s, which was not asked", printable.Quote(req.URL.Host))
			case len(via) > maxHops:
				return errors.New("it redirects too often")
			}
			return nil
		},
	}}, nil
}

// isLoopback reports a host that is this machine.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && ip.IsLoopback()
}

// A Listing is the result of a search.
type Listing struct {
	Servers []Server // each in its latest version, none twice, in the registry's order
	More    bool     // the registry may have others
	Invalid int      // entries that were left out, since they are not valid
}

// Search lists at most so many servers that have every word in their name, title or
// description. The registry is asked for the longest word, and it looks at names only.
func (c *Client) Search(ctx context.Context, words []string, most int) (Listing, error) {
	var out Listing
	ctx, stop := context.WithTimeout(ctx, c.time)
	defer stop()
	longest := slices.MaxFunc(append([]string{""}, words...), func(a, b string) int { return len(a) - len(b) })
	cursors := []string{""}
	for {
		cursor := cursors[len(cursors)-1]
		query := url.Values{"search": {longest}, "version": {"latest"}, "limit": {strconv.Itoa(pageSize)}}
		if cursor != "" {
			query.Set("cursor", cursor)
		}
		var page struct {
			Servers  []json.RawMessage `json:"servers"`
			Metadata struct {
				NextCursor string `json:"nextCursor"`
			} `json:"metadata"`
		}
		if err := c.getJSON(ctx, "/v0.1/servers?"+query.Encode(), maxPage, &page); err != nil {
			return Listing{}, err
		}
		for _, raw := range page.Servers {
			s, err := readServer(raw)
			switch {
			case err != nil:
				out.Invalid++
			case s.Status == StatusDeleted || !s.hasWords(words) || slices.ContainsFunc(out.Servers, func(o Server) bool { return o.Name == s.Name }):
			case len(out.Servers) == most:
				out.More = true
				return out, nil
			default:
				out.Servers = append(out.Servers, *s)
			}
		}
		next := page.Metadata.NextCursor
		switch {
		case next == "":
			return out, nil
		case len(next) > maxCursor || slices.Contains(cursors, next):
			return Listing{}, fmt.Errorf("%s: its pages have no end", c.base)
		case len(cursors) == maxPages:
			out.More = true
			return out, nil
		}
		cursors = append(cursors, next)
	}
}

// Latest returns a server by its name, in its latest version. The error wraps
// [ErrNotFound] if there is none.
func (c *Client) Latest(ctx context.Context, name string) (*Server, error) {
	if !IsName(name) {
		return nil, fmt.Errorf("%s is no name of a server in a registry, such as io.github.user/weather", printable.Quote(name))
	}
	ctx, stop := context.WithTimeout(ctx, c.time)
	defer stop()
	var raw json.RawMessage
	if err := c.getJSON(ctx, "/v0.1/servers/"+url.PathEscape(name)+"/versions/latest", maxEntry, &raw); err != nil {
		return nil, err
	}
	s, err := readServer(raw)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: the entry of %s is not valid: %w", c.base, name, err)
	case s.Name != name:
		return nil, fmt.Errorf("%s: asked for %s, it answers with %s", c.base, name, printable.Quote(s.Name))
	case s.Status == StatusDeleted:
		return nil, fmt.Errorf("%s: %s was deleted from the registry%s", c.base, name, shortReason(s.StatusMessage))
	}
	return s, nil
}

// getJSON asks for a path below the address of the registry, and reads JSON.
func (c *Client) getJSON(ctx context.Context, path string, most int64, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(c.base.String(), "/")+path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	res, err := c.http.Do(req)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok { // its address is long, and part of it the registry's
			err = at.Err
		}
		return fmt.Errorf("%s: %w; --registry URL asks another one", c.base, err)
	}
	defer res.Body.Close()
	switch {
	case res.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s: %w", c.base, ErrNotFound)
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%s: it answers with status %d", c.base, res.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, most+1))
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", c.base, err)
	case int64(len(body)) > most:
		return fmt.Errorf("%s: its answer is larger than %d MiB", c.base, most>>20)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s: its answer is not what a registry answers: %w", c.base, err)
	}
	return nil
}

func shortReason(text string) string {
	if text == "" {
		return ""
	}
	return ": " + printable.Line(text)
}
