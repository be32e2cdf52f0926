package trust

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"mcphub/internal/ownership"
)

// Settings describe how a server is known, and what it is shown. The zero value changes nothing.
type Settings struct {
	CA   File // certificates of authorities, which count beside the ones of the system
	Cert File // the certificate that the server is shown, with those between it and its authority
	Key  File // its private key
	Pins []string
	// PinsAt is where Pins stand in hub.json. Each is "sha256/" and the SHA-256 of a server's public key in base64; one of
	// them must be the hash of the server's key.
	PinsAt string
}

// A File is a path, and its place in hub.json. The zero value is none.
type File struct{ Path, At string }

// IsZero reports whether the Settings change nothing.
func (s Settings) IsZero() bool {
	return s.CA.Path == "" && s.Cert.Path == "" && s.Key.Path == "" && len(s.Pins) == 0
}

// Equal reports whether both say the same, wherever it stands.
func (s Settings) Equal(o Settings) bool {
	return s.CA.Path == o.CA.Path && s.Cert.Path == o.Cert.Path && s.Key.Path == o.Key.Path && slices.Equal(s.Pins, o.Pins)
}

// Bare is s without the places in hub.json.
func (s Settings) Bare() Settings {
	return Settings{CA: File{Path: s.CA.Path}, Cert: File{Path: s.Cert.Path}, Key: File{Path: s.Key.Path}, Pins: s.Pins}
}

// An Error reports a fault of a file, or of the key of a server.
type Error struct {
	At   string // the line of hub.json; ""
	Text string
}

func (e *Error) Error() string {
	if e.At == "" {
		return e.Text
	}
	return e.Text + " (" + e.At + ")"
}

func (f File) errorf(format string, args ...any) error {
	return &Error{f.At, fmt.Sprintf(format, args...)}
}

// Server is for connections to the server itself, at this host; nil: what the system does is all. warn is told about a
// private key that others can read; it may be nil.
func (s Settings) Server(host string, warn func(string)) (*tls.Config, error) {
	if s.IsZero() {
		return nil, nil
	}
	in := &inUse{set: s, warn: warn}
	c := &tls.Config{VerifyConnection: func(cs tls.ConnectionState) error { return in.verifyHandshake(host, cs) }}
	if s.CA.Path != "" {
		if _, err := in.authorities.makeOf([]File{s.CA}, readAuthorities); err != nil {
			return nil, err
		}
		// RootCAs cannot change while connections are made, so verify does what the library would.
		c.InsecureSkipVerify = true
	}
	if s.Cert.Path != "" || s.Key.Path != "" {
		if _, err := in.currentCertificate(); err != nil {
			return nil, err
		}
		c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return in.currentCertificate() }
	}
	return c, nil
}

// Authority is for connections to other hosts that belong to the server; nil: what the system does is all.
func (s Settings) Authority() (*tls.Config, error) {
	if s.CA.Path == "" {
		return nil, nil
	}
	pool, err := readAuthorities([]File{s.CA})
	if err != nil {
		return nil, err
	}
	return &tls.Config{RootCAs: pool}, nil
}

// Proxy is [http.ProxyFromEnvironment], without proxies that are spoken to by TLS themselves: net/http would speak to them as
// to the server, with its certificate.
func Proxy(r *http.Request) (*url.URL, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err == nil && proxy != nil && proxy.Scheme == "https" {
		return nil, errors.New("a proxy that is spoken to by https does not go with \"tls\" of an entry; name it by http, or take the host out of it by NO_PROXY")
	}
	return proxy, err
}

// inUse is what connections to one server use.
type inUse struct {
	set         Settings
	warn        func(string)
	authorities remembered[x509.CertPool]
	pair        remembered[tls.Certificate]
}

// verifyHandshake is called at the end of each handshake.
func (in *inUse) verifyHandshake(host string, cs tls.ConnectionState) error {
	if len(cs.PeerCertificates) == 0 {
		return errors.New("the server shows no certificate")
	}
	own := cs.PeerCertificates[0]
	if in.set.CA.Path != "" {
		pool, err := in.authorities.makeOf([]File{in.set.CA}, readAuthorities)
		if err != nil {
			return err
		}
		// ServerName is the host as it is sent, in ASCII. It is empty for an address of numbers, and an empty name would fit all.
		how := x509.VerifyOptions{DNSName: cmp.Or(cs.ServerName, host), Roots: pool, Intermediates: x509.NewCertPool()}
		for _, c := range cs.PeerCertificates[1:] {
			how.Intermediates.AddCert(c)
		}
		if _, err := own.Verify(how); err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: cs.PeerCertificates, Err: err}
		}
	}
	if pin := Pin(own); len(in.set.Pins) > 0 && !slices.Contains(in.set.Pins, pin) {
		return &Error{in.set.PinsAt, fmt.Sprintf("the key of %s is %s, which tls.pin does not have", host, pin)}
	}
	return nil
}

// Pin returns the pin of the key of a certificate.
func Pin(c *x509.Certificate) string {
	sum := sha256.Sum256(c.RawSubjectPublicKeyInfo)
	return "sha256/" + base64.StdEncoding.EncodeToString(sum[:])
}

// Bounds of files, in bytes. Bundles of all public authorities have about 300 KiB.
const (
	maxAuthorities = 4 << 20
	maxCertificate = 256 << 10
)

func (f File) readFile(most int64) ([]byte, os.FileInfo, error) {
	info, err := os.Stat(f.Path)
	if err == nil && !info.Mode().IsRegular() {
		return nil, nil, f.errorf("%s is no regular file", f.Path)
	}
	if err != nil {
		return nil, nil, f.errorf("%v", err)
	}
	in, err := os.Open(f.Path)
	if err != nil {
		return nil, nil, f.errorf("%v", err)
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	switch {
	case err != nil:
		return nil, nil, f.errorf("%v", err)
	case int64(len(data)) > most:
		return nil, nil, f.errorf("%s has more than %d bytes", f.Path, most)
	}
	return data, info, nil
}

// readAuthorities reads the file of the authorities.
func readAuthorities(files []File) (*x509.CertPool, error) {
	f := files[0]
	data, _, err := f.readFile(maxAuthorities)
	if err != nil {
		return nil, err
	}
	certs, err := parseCertificates(data)
	if err != nil {
		return nil, f.errorf("%s: %v", f.Path, err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool() // the system has none, as a small image does
	}
	for _, c := range certs {
		pool.AddCert(c)
	}
	return pool, nil
}

// currentCertificate returns the pair of certificate and key, as the files are now.
func (in *inUse) currentCertificate() (*tls.Certificate, error) {
	return in.pair.makeOf([]File{in.set.Cert, in.set.Key}, func(files []File) (*tls.Certificate, error) {
		cert, key := files[0], files[1]
		one, _, err := cert.readFile(maxCertificate)
		if err != nil {
			return nil, err
		}
		if _, err := parseCertificates(one); err != nil {
			return nil, cert.errorf("%s: %v", cert.Path, err)
		}
		two, info, err := key.readFile(maxCertificate)
		if err != nil {
			return nil, err
		}
		if open := ownership.CheckPrivate(key.Path, info); open != nil && in.warn != nil {
			in.warn((&Error{key.At, fmt.Sprintf("%s holds a private key: %v", key.Path, open)}).Error())
		}
		pair, err := tls.X509KeyPair(one, two)
		if err != nil {
			return nil, key.errorf("%s is no private key in PEM of the certificate %s: %v", key.Path, cert.Path, strings.TrimPrefix(err.Error(), "tls: "))
		}
		return &pair, nil
	})
}

// remembered is what was made of files as they were then.
type remembered[T any] struct {
	mu    sync.Mutex
	files []os.FileInfo
	made  *T
}

// makeOf makes it again if a file has changed.
func (r *remembered[T]) makeOf(files []File, make func([]File) (*T, error)) (*T, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var now []os.FileInfo
	for _, f := range files {
		if info, err := os.Stat(f.Path); err == nil {
			now = append(now, info)
		}
	}
	if r.made != nil && slices.EqualFunc(now, r.files, isSame) {
		return r.made, nil
	}
	r.made = nil
	next, err := make(files)
	if err != nil {
		return nil, err
	}
	r.made, r.files = next, now
	return next, nil
}

func isSame(a, b os.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}
