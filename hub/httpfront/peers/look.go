package peers

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"mcphub/internal/printable"
)

// This file finds out which hub answers at which address.

const (
	lookEvery = time.Second     // at most so often the addresses are asked
	lookTime  = 3 * time.Second // for all of them together
	maxPlaces = 256             // addresses that are asked
	maxAtOnce = 16
	maxAnswer = 64 << 10 // bytes
)

func tlsFor(name string) *tls.Config {
	return &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
}

// askAll asks all addresses for the names of their hubs, and remembers what they answer.
func (p *Peers) askAll(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookTime) // others wait for the answers too
	defer cancel()
	var all sync.WaitGroup
	slots := make(chan struct{}, maxAtOnce)
	for _, at := range p.findPlaces(ctx) {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			name, err := p.askName(ctx, at)
			if errors.Is(err, errRelayed) {
				p.o.Log.Warn().Str("address", at.host).Err(err).Msg("no request is forwarded to this address")
				return
			}
			if err != nil {
				p.o.Log.Debug().Str("address", at.host).Err(err).Msg("no other hub answers here")
				return
			}
			if name == p.o.Node {
				return
			}
			p.mu.Lock()
			defer p.mu.Unlock()
			if before, had := p.known[name]; had && before.place != at {
				p.o.Log.Info().Str("node", printable.Escape(name, 100)).Str("address", at.host).Msg("a hub answers at another address")
			}
			p.known[name] = sighting{at, time.Now().Add(knownTime)}
		})
	}
	all.Wait()
}

// findPlaces returns all addresses that the configured names have now.
func (p *Peers) findPlaces(ctx context.Context) (all []place) {
	for _, l := range p.listed {
		host, port := l.url.Hostname(), l.url.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[l.url.Scheme]
		}
		addresses, err := net.DefaultResolver.LookupHost(ctx, host) // an address stands for itself
		if err != nil {
			p.o.Log.Debug().Str("name", host).Err(err).Msg("another hub has no address")
			continue
		}
		for _, address := range addresses {
			if len(all) < maxPlaces {
				all = append(all, place{l, net.JoinHostPort(address, port)})
			}
		}
	}
	return all
}

// An answer names a hub to another hub that asks for it.
type answer struct {
	Node string `json:"node"` // its name
	At   string `json:"at"`   // the address and the port at which it was asked
}

// errRelayed: the hub was asked at another address than the question was sent to.
var errRelayed = errors.New("something between the hubs relays the question")

// askName returns the name of the hub at a place. The answer is sealed and bound to the question, so it is no earlier answer. Over https the
// certificate proves who has answered. Over http the hub has to name the address that was asked: another program there could pass the question
// on to a hub, and would be sent the tokens of clients.
func (p *Peers) askName(ctx context.Context, at place) (string, error) {
	question := rand.Text()
	sealed, err := p.o.Seal.Seal(purposeAsk, nil, time.Now().Add(validTime), []byte(question))
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at.of.url.Scheme+"://"+at.host+Path, nil)
	if err != nil {
		return "", err
	}
	r.Host = at.of.url.Host
	r.Header.Set(Header, sealed)
	resp, err := at.of.transport.RoundTrip(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	if text, err = p.o.Seal.Open(purposeName, []byte(question), time.Now(), string(text)); err != nil {
		return "", err
	}
	var a answer
	if err := json.Unmarshal(text, &a); err != nil {
		return "", err
	}
	if at.of.url.Scheme != "https" && (a.At == "" || a.At != plainAddress(at.host)) {
		return "", fmt.Errorf("%w: the hub %q was asked at %s; write https:// in http.peers of hub.json, or an address of the hub itself", errRelayed, printable.Escape(a.Node, 100), printable.Escape(a.At, 100))
	}
	return a.Node, nil
}

// plainAddress returns an address and port in the one form that both ends of a connection write; "" if it is none. The zone of an address is each
// machine's own.
func plainAddress(text string) string {
	a, err := netip.ParseAddrPort(text)
	if err != nil {
		return ""
	}
	return netip.AddrPortFrom(a.Addr().Unmap().WithZone(""), a.Port()).String()
}

// ServeName tells another hub the name of this one. It reports whether another hub has asked; otherwise nothing is written.
func (p *Peers) ServeName(w http.ResponseWriter, r *http.Request) bool {
	if p == nil || r.Method != http.MethodGet {
		return false
	}
	question, err := p.o.Seal.Open(purposeAsk, nil, time.Now(), r.Header.Get(Header))
	if err != nil {
		return false
	}
	a := answer{Node: p.o.Node}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		a.At = plainAddress(local.String())
	}
	text, err := json.Marshal(a)
	if err != nil {
		return false
	}
	sealed, err := p.o.Seal.Seal(purposeName, question, time.Now().Add(validTime), text)
	if err != nil {
		return false
	}
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, sealed)
	return true
}
