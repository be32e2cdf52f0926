package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcphub/hub"
	"mcphub/hub/status"
	"mcphub/internal/ownership"
)

const (
	// young is how old a socket must be to count as left behind: between bind and
	// listen a new one refuses too.
	young = 5 * time.Second
	// answerTime bounds one look at a hub, answerSize what it says.
	answerTime = 5 * time.Second
	answerSize = 64 << 20
)

// A Hub is one that runs, seen from another process.
type Hub struct {
	Socket string
	client *http.Client
}

// Find lists the hubs that this user runs. Sockets of hubs that are gone are
// taken away. The error reports which folders could not be looked into, and
// does not spoil the others.
func Find(folders []string) ([]Hub, error) {
	var hubs []Hub
	var failed []error
	for _, dir := range folders {
		err := ownership.CheckFolder(dir)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			failed = append(failed, err)
			continue
		}
		sweepSockets(dir, func(path string, _ net.Conn) {
			hubs = append(hubs, Hub{Socket: path, client: clientOf(path)})
		})
	}
	return hubs, errors.Join(failed...)
}

// sweepSockets hands the sockets in a folder that someone listens on to live, with a connection
// that lasts as long as that, and removes the others, unless they are so new that someone may be
// about to.
func sweepSockets(dir string, live func(path string, c net.Conn)) {
	names, _ := os.ReadDir(dir) // what cannot be read holds nothing for us
	for _, e := range names {
		path := filepath.Join(dir, e.Name())
		if !isSocket(e) || !strings.HasSuffix(e.Name(), ".sock") {
			continue
		}
		within, cancel := context.WithTimeout(context.Background(), time.Second)
		c, err := dialSocket(within, path)
		cancel()
		if err == nil {
			live(path, c)
			_ = c.Close()
			continue
		}
		if fi, statErr := e.Info(); isRefused(err) && statErr == nil && time.Since(fi.ModTime()) > young {
			_ = os.Remove(path)
		}
	}
}

func clientOf(path string) *http.Client {
	return &http.Client{Transport: &http.Transport{
		DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			c, err := dialSocket(ctx, path)
			if err != nil {
				return nil, err
			}
			if err := sameUser(c, peerUser); err != nil {
				_ = c.Close()
				return nil, err
			}
			return c, nil
		},
	}}
}

// Status asks the hub how it stands.
func (h Hub) Status(ctx context.Context) (Report, error) {
	return askHub[Report](ctx, h, answerTime, http.MethodGet, "/status", nil)
}

// Tools asks which tools the servers of the hub have listed.
func (h Hub) Tools(ctx context.Context) ([]status.ServerTools, error) {
	return askHub[[]status.ServerTools](ctx, h, answerTime, http.MethodGet, "/tools", nil)
}

// Reload has the hub read hub.json again. The error is the hub's own, if it has one.
func (h Hub) Reload(ctx context.Context) error {
	_, err := askHub[outcome](ctx, h, writeTime, http.MethodPost, "/reload", nil)
	return err
}

// Restart has the hub start a server again, and waits until it has.
func (h Hub) Restart(ctx context.Context, server string) (hub.RestartReport, error) {
	return askHub[hub.RestartReport](ctx, h, writeTime, http.MethodPost, "/restart?server="+url.QueryEscape(server), nil)
}

// EndSessions has the hub end the session with this id, or all sessions of this principal, and returns the sessions that it has found.
func (h Hub) EndSessions(ctx context.Context, id, principal string) ([]hub.EndedSession, error) {
	query := url.Values{"id": {id}, "principal": {principal}}
	return askHub[[]hub.EndedSession](ctx, h, answerTime, http.MethodPost, "/sessions/end?"+query.Encode(), nil)
}

// Plan asks what a reload would do if hub.json read as a file does; "": as it does now.
func (h Hub) Plan(ctx context.Context, file string) (Plan, error) {
	return askHub[Plan](ctx, h, writeTime, http.MethodPost, "/plan?file="+url.QueryEscape(file), nil)
}

// askHub makes one request of the hub, within a time.
func askHub[T any](ctx context.Context, h Hub, within time.Duration, method, path string, body []byte) (said T, err error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://mcphub"+path, bytes.NewReader(body))
	if err != nil {
		return said, err
	}
	resp, err := h.client.Do(req)
	if err != nil {
		return said, fmt.Errorf("the hub at %s does not answer: %w", h.Socket, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, answerSize))
	if err != nil {
		return said, fmt.Errorf("the hub at %s: %w", h.Socket, err)
	}
	if resp.StatusCode != http.StatusOK {
		var o outcome
		if json.Unmarshal(raw, &o) == nil && o.Error != "" {
			return said, errors.New(o.Error)
		}
		return said, fmt.Errorf("the hub at %s answered %s", h.Socket, resp.Status)
	}
	if err := json.Unmarshal(raw, &said); err != nil {
		return said, fmt.Errorf("the hub at %s answered what is no report: %w", h.Socket, err)
	}
	return said, nil
}
