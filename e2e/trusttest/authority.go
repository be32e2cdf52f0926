package trusttest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// An Authority issues certificates.
type Authority struct {
	t      testing.TB
	cert   *x509.Certificate
	key    *ecdsa.PrivateKey
	serial int64
}

// New makes an Authority.
func New(t testing.TB) *Authority {
	a := &Authority{t: t}
	own := &x509.Certificate{Subject: pkix.Name{CommonName: "an authority of " + t.Name()}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	pair := a.issue(own)
	a.cert, a.key = pair.Leaf, pair.PrivateKey.(*ecdsa.PrivateKey)
	return a
}

// Issue makes a certificate for these names or addresses, and its key.
func (a *Authority) Issue(names ...string) tls.Certificate {
	a.t.Helper()
	template := &x509.Certificate{Subject: pkix.Name{CommonName: names[0]}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	return a.issue(template)
}

// issue signs a template; the first is the Authority's own.
func (a *Authority) issue(template *x509.Certificate) tls.Certificate {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.serial++
	template.SerialNumber = big.NewInt(a.serial)
	template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	by, with := a.cert, a.key
	if by == nil {
		by, with = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, by, &key.PublicKey, with)
	if err != nil {
		a.t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

// PEM returns the Authority's own certificate.
func (a *Authority) PEM() []byte { return certPEM(a.cert.Raw) }

// File writes the Authority's own certificate into a file.
func (a *Authority) File() string {
	a.t.Helper()
	return write(a.t, filepath.Join(a.t.TempDir(), "ca.pem"), a.PEM())
}

// Files writes a certificate and its key into a folder, over the ones that are there.
func (a *Authority) Files(dir string, pair tls.Certificate) (cert, key string) {
	a.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		a.t.Fatal(err)
	}
	cert = write(a.t, filepath.Join(dir, "client.pem"), certPEM(pair.Certificate[0]))
	return cert, write(a.t, filepath.Join(dir, "client.key"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// Pool holds the Authority alone.
func (a *Authority) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// Serve serves https with a certificate of the Authority for 127.0.0.1. clients asks for a certificate of theirs; nil: none
// is needed.
func (a *Authority) Serve(h http.Handler, clients *Authority) *httptest.Server {
	a.t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.TLS = &tls.Config{Certificates: []tls.Certificate{a.Issue("127.0.0.1", "localhost")}}
	if clients != nil {
		s.TLS.ClientAuth, s.TLS.ClientCAs = tls.RequireAndVerifyClientCert, clients.Pool()
	}
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // handshakes that fail are what tests are about
	s.StartTLS()
	a.t.Cleanup(s.Close)
	return s
}

func certPEM(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func write(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
