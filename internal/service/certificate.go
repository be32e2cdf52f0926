package service

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"mcphub/internal/setup"
)

// lookAtCertificate is the least time between two looks whether a certificate was renewed.
const lookAtCertificate = 500 * time.Millisecond

// certificates are what the hub shows of itself over TLS. The zero value has none.
type certificates struct {
	now atomic.Pointer[certificate] // nil: plain HTTP
}

// A certificate is one with its key, as its files have it. What is put in their place counts
// for the next connection, once both files fit; until then the former goes on.
type certificate struct {
	files [2]string // certificate, key

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]os.FileInfo // as they were read
	looked time.Time
}

// loadCertificate reads a certificate and its key.
func loadCertificate(cert, key string) (*certificate, error) {
	c := &certificate{files: [2]string{cert, key}}
	return c, c.load()
}

func (c *certificate) load() error {
	var seen [2]os.FileInfo
	for i, name := range c.files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		seen[i] = info
	}
	if err := setup.CheckPrivate(c.files[1], seen[1]); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return fmt.Errorf("%s with %s: %w", c.files[0], c.files[1], err)
	}
	c.pair, c.seen = &pair, seen
	return nil
}

// current is the certificate as it is now, looked at again now and then.
func (c *certificate) current() *tls.Certificate {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookAtCertificate {
		c.looked = now
		if c.changed() {
			_ = c.load() // halfway through a renewal the two do not fit: it is tried again
		}
	}
	return c.pair
}

func (c *certificate) changed() bool {
	for i, name := range c.files {
		info, err := os.Stat(name)
		if err == nil && (!os.SameFile(info, c.seen[i]) || !info.ModTime().Equal(c.seen[i].ModTime()) || info.Size() != c.seen[i].Size()) {
			return true
		}
	}
	return false
}

// listener returns a Listener like ln whose connections speak TLS while there is a certificate.
func (c *certificates) listener(ln net.Listener) net.Listener {
	return tlsListener{ln, c, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // the bounds of a connection are those of one request at a time
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if now := c.now.Load(); now != nil {
				return now.current(), nil
			}
			return nil, errNoCertificate
		},
	}}
}

var errNoCertificate = errors.New("http.tls was taken out of hub.json")

type tlsListener struct {
	net.Listener
	of     *certificates
	config *tls.Config
}

func (l tlsListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil || l.of.now.Load() == nil {
		return c, err
	}
	return tls.Server(c, l.config), nil
}
