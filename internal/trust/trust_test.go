package trust_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"mcphub/e2e/trusttest"
	"mcphub/internal/trust"
)

// get asks a server, by a connection that is secured as hub.json says.
func get(t *testing.T, set trust.Settings, address, host string) (string, error) {
	t.Helper()
	c, err := set.Server(host, nil)
	if err != nil {
		return "", err
	}
	transport := &http.Transport{TLSClientConfig: c}
	defer transport.CloseIdleConnections()
	return ask(t, &http.Client{Transport: transport}, address)
}

func ask(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	resp, err := c.Get(address)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// whoAsks answers with the name in the client's certificate.
var whoAsks = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	name := "nobody"
	if len(r.TLS.PeerCertificates) > 0 {
		name = r.TLS.PeerCertificates[0].Subject.CommonName
	}
	_, _ = io.WriteString(w, name)
})

// An authority counts beside the ones of the system, for the host that its certificate names, and for no other.
func TestAuthority(t *testing.T) {
	t.Parallel()
	house, stranger := trusttest.New(t), trusttest.New(t)
	s := house.Serve(whoAsks, nil)
	address, named := s.URL, strings.Replace(s.URL, "127.0.0.1", "localhost", 1)
	ca := trust.Settings{CA: trust.File{Path: house.File()}}
	for _, to := range []struct{ address, host string }{{address, "127.0.0.1"}, {named, "localhost"}} {
		if got, err := get(t, ca, to.address, to.host); err != nil || got != "nobody" {
			t.Errorf("%s: %q, %v", to.address, got, err)
		}
		for name, set := range map[string]trust.Settings{
			"the system alone": {}, "another authority": {CA: trust.File{Path: stranger.File()}},
		} {
			if got, err := get(t, set, to.address, to.host); err == nil || !strings.Contains(err.Error(), "certificate") {
				t.Errorf("%s trusts %s: %q, %v", name, to.address, got, err)
			}
		}
	}
	// The certificate is the house's, of another host.
	other := house.Serve(whoAsks, nil)
	other.TLS.Certificates = []tls.Certificate{house.Issue("elsewhere.test", "10.0.0.1")}
	for _, to := range []struct{ address, host string }{{other.URL, "127.0.0.1"}, {strings.Replace(other.URL, "127.0.0.1", "localhost", 1), "localhost"}} {
		if got, err := get(t, ca, to.address, to.host); err == nil || !strings.Contains(err.Error(), "valid for") {
			t.Errorf("%s: the certificate of another host: %q, %v", to.address, got, err)
		}
	}
}

// A pin is asked for beside a certificate that is trusted. The error names the key that was seen, so that it can be compared.
func TestPin(t *testing.T) {
	t.Parallel()
	house := trusttest.New(t)
	s := house.Serve(whoAsks, nil)
	pin := trust.Pin(s.TLS.Certificates[0].Leaf)
	other := trust.Pin(house.Issue("x").Leaf)
	ca := trust.File{Path: house.File()}
	for name, set := range map[string]trust.Settings{"one": {CA: ca, Pins: []string{pin}}, "one of two": {CA: ca, Pins: []string{other, pin}}} {
		if _, err := get(t, set, s.URL, "127.0.0.1"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := get(t, trust.Settings{CA: ca, Pins: []string{other}, PinsAt: "hub.json:7"}, s.URL, "127.0.0.1")
	if err == nil || !strings.Contains(err.Error(), pin) || !strings.Contains(err.Error(), "hub.json:7") {
		t.Errorf("another key: %v", err)
	}
	if _, err := get(t, trust.Settings{Pins: []string{pin}}, s.URL, "127.0.0.1"); err == nil {
		t.Error("a pin makes an authority trusted")
	}
}

// A certificate that is renewed in its place counts for the next connection, and so do other authorities.
func TestFilesAreReadAgain(t *testing.T) {
	t.Parallel()
	house, clients, before := trusttest.New(t), trusttest.New(t), trusttest.New(t)
	s := house.Serve(whoAsks, clients)
	dir := t.TempDir()
	cert, key := clients.Files(dir, clients.Issue("first"))
	ca := before.File()
	set := trust.Settings{CA: trust.File{Path: ca}, Cert: trust.File{Path: cert}, Key: trust.File{Path: key}}
	c, err := set.Server("127.0.0.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: c, DisableKeepAlives: true}}
	if _, err := ask(t, web, s.URL); err == nil {
		t.Error("an authority counts that is in no file")
	}
	later := func(paths ...string) { // a file system may keep whole seconds
		for _, path := range paths {
			if err := os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.WriteFile(ca, house.PEM(), 0o600); err != nil {
		t.Fatal(err)
	}
	later(ca)
	if got, err := ask(t, web, s.URL); err != nil || got != "first" {
		t.Errorf("%q, %v", got, err)
	}
	clients.Files(dir, clients.Issue("second"))
	later(cert, key)
	if got, err := ask(t, web, s.URL); err != nil || got != "second" {
		t.Errorf("after the renewal: %q, %v", got, err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, web, s.URL); err == nil {
		t.Errorf("without its key: %q", got)
	}
}

// What cannot be used is an error that names the file and its line, and never what a private key holds.
func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	house := trusttest.New(t)
	dir := t.TempDir()
	cert, key := house.Files(dir, house.Issue("one"))
	_, otherKey := house.Files(t.TempDir(), house.Issue("two"))
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	text := file("text", "no PEM")
	cut := file("cut", string(good)+string(good[:len(good)/2]))
	garbled := file("garbled", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
	missing := filepath.Join(dir, "missing")
	at := func(path string) trust.File { return trust.File{Path: path, At: "hub.json:3"} }
	for name, tc := range map[string]struct {
		set  trust.Settings
		path string
	}{
		"text":          {trust.Settings{CA: at(text)}, text},
		"cut":           {trust.Settings{CA: at(cut)}, cut},
		"garbled":       {trust.Settings{CA: at(garbled)}, garbled},
		"missing":       {trust.Settings{CA: at(missing)}, missing},
		"folder":        {trust.Settings{CA: at(dir)}, dir},
		"a key":         {trust.Settings{CA: at(key)}, key},
		"cert":          {trust.Settings{Cert: at(text), Key: at(key)}, text},
		"key":           {trust.Settings{Cert: at(cert), Key: at(text)}, text},
		"key missing":   {trust.Settings{Cert: at(cert), Key: at(missing)}, missing},
		"another's key": {trust.Settings{Cert: at(cert), Key: at(otherKey)}, otherKey},
	} {
		_, err := tc.set.Server("h", nil)
		bad, ok := errors.AsType[*trust.Error](err)
		if !ok || bad.At != "hub.json:3" || !strings.Contains(bad.Text, tc.path) || !strings.HasSuffix(err.Error(), "(hub.json:3)") {
			t.Errorf("%s: %v", name, err)
		}
	}
	bundle := file("bundle", "about it\n"+string(good)+string(good))
	if _, err := (trust.Settings{CA: at(bundle)}).Server("h", nil); err != nil {
		t.Errorf("a bundle with text beside: %v", err)
	}
}

// Who connects is told about a key that others can read. It is used all the same.
func TestOpenKey(t *testing.T) {
	t.Parallel()
	house := trusttest.New(t)
	cert, key := house.Files(t.TempDir(), house.Issue("one"))
	var told []string
	warn := func(text string) { told = append(told, text) }
	set := trust.Settings{Cert: trust.File{Path: cert}, Key: trust.File{Path: key, At: "hub.json:9"}}
	if _, err := set.Server("h", warn); err != nil || len(told) > 0 {
		t.Fatal(err, told)
	}
	if err := os.Chmod(key, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := set.Server("h", warn); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS != "windows" && (len(told) != 1 || !strings.Contains(told[0], key) || !strings.Contains(told[0], "hub.json:9")) {
		t.Errorf("told %q", told)
	}
}

// Other hosts of the house get its authority, and neither pin nor certificate.
func TestAuthorityAlone(t *testing.T) {
	t.Parallel()
	house := trusttest.New(t)
	cert, key := house.Files(t.TempDir(), house.Issue("one"))
	c, err := trust.Settings{CA: trust.File{Path: house.File()}, Cert: trust.File{Path: cert}, Key: trust.File{Path: key}, Pins: []string{"sha256/x"}}.Authority()
	if err != nil || c.RootCAs == nil || c.VerifyConnection != nil || c.GetClientCertificate != nil || c.Certificates != nil || c.InsecureSkipVerify {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := (trust.Settings{Pins: []string{"sha256/x"}}).Authority(); c != nil || err != nil {
		t.Errorf("without an authority: %+v, %v", c, err)
	}
}
