package spec

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"maps"
	"slices"
	"strconv"

	"mcphub/children/launch"
	"mcphub/children/offers"
	"mcphub/internal/jsonrpc"
)

// Digest returns a digest of everything that decides what a child offers, as far as
// that can be told without starting it: how it is started or reached, what the hub
// shows it, the era of the clients, and the program. Values of variables and headers
// go into it, and cannot be read out of it. It is "" if the program cannot be found:
// then nothing is known of the child.
//
// What it cannot see is a package that a launcher fetches again: for npx and uvx the
// package argument counts, with the version if that is written.
func (s Spec) Digest(m launch.Machine, version string, clients Era, shown []byte) string {
	traces, err := m.Traces(s.Program(), s.URL != "")
	if err != nil {
		return ""
	}
	d := sha256.New()
	put := func(parts ...string) {
		d.Write(binary.AppendUvarint(nil, uint64(len(parts))))
		for _, p := range parts {
			d.Write(append(binary.AppendUvarint(nil, uint64(len(p))), p...))
		}
	}
	put(offers.Format, version, string(shown), s.Name, s.Command, s.Cwd, s.Roots.String(), strconv.FormatBool(s.Local), m.System())
	put(s.Args...)
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		put(name, s.Env[name])
	}
	if s.EnvFile != "" {
		put("envFile", s.EnvFile)
	}
	for _, variable := range traces.Inherited {
		put(variable...)
	}
	put(s.Auth.ClientID, s.Auth.Issuer)
	put(s.Auth.Scopes...)
	put(s.TLS.Cert.Path, s.HeadersFrom.Command)
	put(s.HeadersFrom.Args...)
	put(s.URL, string(s.Transport), s.Era.String(), s.Protocol, clients.String())
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		put(name, s.Headers[name])
	}
	for _, file := range traces.Files {
		put(file...)
	}
	return hex.EncodeToString(d.Sum(nil))
}

// Capabilities returns the raw object of capabilities that an instance is shown.
// client is the object of the client which it serves.
func (s Spec) Capabilities(client []byte) []byte {
	b := []byte{'{'}
	if s.Roots != RootsNone {
		b = append(b, `"roots":{"listChanged":true}`...)
	}
	return append(jsonrpc.AppendMembers(b, client, func(name string) bool { return name != "roots" }), '}')
}
