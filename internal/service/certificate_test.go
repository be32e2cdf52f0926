package service

import (
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
	"testing"
	"time"
)

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
	}
}

// A certificate that is renewed in its place counts soon, without a break: while its two files do not
// fit, the former one does.
func TestACertificateIsRenewed(t *testing.T) {
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert"), filepath.Join(dir, "key")
	writeCertificate(t, "first", cert, key)
	first, err := loadCertificate(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	var all certificates
	plain, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all.now.Store(first)
	ln := all.listener(plain)
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
	if shown() != "first" {
		t.Error("the files are looked at for every connection")
	}
	if look(); shown() != "third" {
		t.Error("a renewal does not count")
	}
	if runtime.GOOS == "windows" {
		return // modes mean nothing there
	}
	if err := os.Chmod(key, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loadCertificate(cert, key); err == nil {
		t.Error("a key that everybody can read was taken")
	}
}
