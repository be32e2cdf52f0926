package service

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"mcphub/cmd/mcphub/internal/admin"
)

// written is when a file was written last, so that no two have the same time.
var written = time.Now()

// writeCertificate writes a certificate of that name, and its key.
func writeCertificate(t *testing.T, name, cert, key string) {
	t.Helper()
	pair, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &pair.PublicKey, pair)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(pair)
	if err != nil {
		t.Fatal(err)
	}
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "PRIVATE KEY", Bytes: raw}} {
		if file == "" {
			continue
		}
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
		written = written.Add(time.Second) // not all file systems tell two moments apart that are so close
		if err := os.Chtimes(file, written, written); err != nil {
			t.Fatal(err)
		}
	}
}

// A certificate that is renewed in its place counts soon, without a break: while its two files do not
// fit, the former one does.
func TestACertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	writeCertificate(t, "first", cert, key)
	first, err := loadCertificate(cert, key, zerolog.Nop())
	if err != nil {
		t.Fatal(err)
	}
	var all certificates
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all.now.Store(first)
	ln := all.tlsListener(plain)
	defer func() { _ = ln.Close() }()
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() { _ = c.(*tls.Conn).Handshake(); _ = c.Close() }()
		}
	}()
	shown := func() string {
		t.Helper()
		c, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2", "http/1.1"}})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = c.Close() }()
		if got := c.ConnectionState().NegotiatedProtocol; got != "http/1.1" {
			t.Errorf("it speaks %q", got)
		}
		return c.ConnectionState().PeerCertificates[0].Subject.CommonName
	}
	look := func() { // the time is over until it is looked at again
		first.mu.Lock()
		defer first.mu.Unlock()
		first.looked = time.Time{}
	}
	if got := shown(); got != "first" {
		t.Fatal(got)
	}
	writeCertificate(t, "second", cert, "")
	if look(); shown() != "first" {
		t.Error("half of a renewal counts")
	}
	writeCertificate(t, "third", cert, key)
	first.mu.Lock()
	first.looked = time.Now().Add(time.Hour) // however long it takes until the next connection
	first.mu.Unlock()
	if shown() != "first" {
		t.Error("the files are looked at for every connection")
	}
	if look(); shown() != "third" {
		t.Error("a renewal does not count")
	}
	if runtime.GOOS == "windows" {
		return // modes mean nothing there
	}
	if err := os.Chmod(key, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := loadCertificate(cert, key, zerolog.Nop()); err == nil {
		t.Error("a key that everybody can change was taken")
	}
}

// A renewal that cannot be read is told once, with what is wrong and what to do, by the log and, as long as it is so, by
// status. Half of a renewal is not, if the other half follows.
func TestARenewalThatFailsIsTold(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	writeCertificate(t, "first", cert, key)
	var log bytes.Buffer
	c, err := loadCertificate(cert, key, zerolog.New(&log))
	if err != nil {
		t.Fatal(err)
	}
	settings := &httpSettings{report: &admin.HTTPReport{URL: "https://x/mcp"}, certificate: c}
	look := func() string {
		c.mu.Lock()
		c.looked = time.Time{} // the time is over until it is looked at again
		c.mu.Unlock()
		return settings.reportHTTP().Certificate
	}
	if got := look(); got != "" || settings.report.Certificate != "" {
		t.Errorf("where nothing is wrong: %s", got)
	}
	writeCertificate(t, "half", cert, "")
	if got := look(); !strings.Contains(got, cert+" with "+key) {
		t.Errorf("halfway: %q", got)
	}
	writeCertificate(t, "second", cert, key)
	if got := look(); got != "" || log.Len() > 0 {
		t.Errorf("a renewal: %q, %s", got, &log)
	}
	for _, breaks := range []struct {
		what string
		do   func() error
		want string
	}{
		{"is gone", func() error { return os.Remove(cert) }, cert},
		{"is no certificate", func() error { return os.WriteFile(cert, []byte("x"), 0o600) }, cert + " with " + key},
	} {
		log.Reset()
		if err := breaks.do(); err != nil {
			t.Fatal(err)
		}
		for range 4 {
			if got := look(); !strings.Contains(got, breaks.want) {
				t.Errorf("%s: status tells %q", breaks.what, got)
			}
		}
		if text := log.String(); strings.Count(text, "\n") != 1 || !strings.Contains(text, breaks.want) || !strings.Contains(text, "put a certificate and the key that fits it into both files") || !strings.Contains(text, `"until":"`+c.pair.Leaf.NotAfter.Format(time.RFC3339)) {
			t.Errorf("%s: the log tells %s", breaks.what, text)
		}
	}
	log.Reset()
	writeCertificate(t, "third", cert, key)
	if got := look(); got != "" || strings.Count(log.String(), "was renewed") != 1 || c.pair.Leaf.Subject.CommonName != "third" {
		t.Errorf("mended: %q, %s", got, &log)
	}
}
