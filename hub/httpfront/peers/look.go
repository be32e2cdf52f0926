package peers

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"net"
	"net/http"
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
	turns := make(chan struct{}, maxAtOnce)
	for _, at := range p.findPlaces(ctx) {
		all.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			name, err := p.askName(ctx, at)
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

// askName returns the name of the hub at a place. It is sealed and bound to the question, so it is no earlier answer.
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
	defer func() { _ = resp.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return "", err
	}
	name, err := p.o.Seal.Open(purposeName, []byte(question), time.Now(), string(answer))
	return string(name), err
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
	answer, err := p.o.Seal.Seal(purposeName, question, time.Now().Add(validTime), []byte(p.o.Node))
	if err != nil {
		return false
	}
	w.Header().Set("Cache-Control", "no-store")
	_, _ = io.WriteString(w, answer)
	return true
}
