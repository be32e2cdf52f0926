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

	"github.com/rs/zerolog"

	"mcphub/internal/ownership"
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
	log   zerolog.Logger

	mu     sync.Mutex
	pair   *tls.Certificate
	seen   [2]os.FileInfo // as they were read
	looked time.Time
	wrong  string // why what is there now does not count; "": it does
	told   bool   // the log says so
}

// loadCertificate reads a certificate and its key.
func loadCertificate(cert, key string, log zerolog.Logger) (*certificate, error) {
	c := &certificate{files: [2]string{cert, key}, log: log}
	return c, c.loadPair()
}

func (c *certificate) loadPair() error {
	var seen [2]os.FileInfo
	for i, name := range c.files {
		info, err := os.Stat(name)
		if err != nil {
			return err
		}
		seen[i] = info
	}
	if err := ownership.CheckPrivate(c.files[1], seen[1]); err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(c.files[0], c.files[1])
	if err != nil {
		return fmt.Errorf("%s with %s: %w", c.files[0], c.files[1], err)
	}
	c.pair, c.seen = &pair, seen
	return nil
}

// currentPair returns the certificate as it is now, looked at again now and then. wrong is why that
// is not what is in its files.
func (c *certificate) currentPair() (pair *tls.Certificate, wrong string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.looked) >= lookAtCertificate {
		c.looked = now
		c.readIfChanged()
	}
	return c.pair, c.wrong
}

// readIfChanged reads the files again if they are others. What is wrong with them is logged once, if it is
// so for two looks: halfway through a renewal the two do not fit.
func (c *certificate) readIfChanged() {
	changed, err := c.hasChanged()
	if changed {
		err = c.loadPair()
	}
	switch {
	case err == nil:
		if c.told {
			c.log.Info().Str("file", c.files[0]).Msg("the certificate of http.tls was renewed")
		}
		c.wrong, c.told = "", false
		return
	case err.Error() != c.wrong:
		c.wrong, c.told = err.Error(), false
		return
	case c.told:
		return
	}
	c.told = true
	c.log.Error().Str("error", c.wrong).Time("until", c.pair.Leaf.NotAfter).Msg("the certificate of http.tls was not renewed, and the former one is shown, which is good until then: put a certificate and the key that fits it into both files, for the hub's user to read")
}

// hasChanged reports whether the files are others than the ones that were read.
func (c *certificate) hasChanged() (bool, error) {
	for i, name := range c.files {
		info, err := os.Stat(name)
		if err != nil {
			return false, err
		}
		if !os.SameFile(info, c.seen[i]) || !info.ModTime().Equal(c.seen[i].ModTime()) || info.Size() != c.seen[i].Size() {
			return true, nil
		}
	}
	return false, nil
}

// tlsListener returns a Listener like ln whose connections speak TLS while there is a certificate.
func (c *certificates) tlsListener(ln net.Listener) net.Listener {
	return tlsListener{ln, c, &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"}, // the bounds of a connection are made for one request at a time
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			if now := c.now.Load(); now != nil {
				pair, _ := now.currentPair()
				return pair, nil
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
