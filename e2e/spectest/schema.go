package spectest

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

//go:embed schema/*.json
var files embed.FS

// Modern is the first version without a handshake.
const Modern = "2026-07-28"

// Party is who sent a message.
type Party string

// The two of a conversation.
const (
	Client Party = "client"
	Server Party = "server"
)

func (p Party) otherParty() Party {
	if p == Client {
		return Server
	}
	return Client
}

// schema is the official schema of one version.
type schema struct {
	version string
	url     string                     // of the definitions, with "#/$defs/" or "#/definitions/"
	defs    map[string]json.RawMessage // by name
	methods map[string]string          // the definition of a request or notification, by method
	senders map[Party]map[string]bool  // which definitions a party may send; server requests are none of Modern
	mu      sync.Mutex                 // guards what is below
	c       *jsonschema.Compiler
	ready   map[string]*jsonschema.Schema
}

// load gives the schema of a version, nil if there is none here.
var load = func() func(version string) *schema {
	all := sync.OnceValue(func() map[string]*schema {
		found := map[string]*schema{}
		entries, err := files.ReadDir("schema")
		if err != nil {
			panic(err)
		}
		for _, e := range entries {
			version := strings.TrimSuffix(e.Name(), ".json")
			b, err := files.ReadFile("schema/" + e.Name())
			if err != nil {
				panic(err)
			}
			found[version] = parseSchema(version, b)
		}
		return found
	})
	return func(version string) *schema { return all()[version] }
}()

// Versions gives the ones that have a schema here, oldest first.
func Versions() []string {
	var all []string
	entries, _ := files.ReadDir("schema")
	for _, e := range entries {
		all = append(all, strings.TrimSuffix(e.Name(), ".json"))
	}
	return all
}

// Methods gives the requests and notifications of a version.
func Methods(version string) []string {
	return slices.Sorted(maps.Keys(load(version).methods))
}

// parseSchema reads a schema. It panics on one that it does not understand: the files are part of the program.
func parseSchema(version string, b []byte) *schema {
	var top struct {
		Defs        map[string]json.RawMessage `json:"$defs"`
		Definitions map[string]json.RawMessage `json:"definitions"`
	}
	if err := json.Unmarshal(b, &top); err != nil {
		panic(err)
	}
	s := &schema{version: version, url: "https://spec.test/" + version + ".json", defs: top.Defs, methods: map[string]string{},
		senders: map[Party]map[string]bool{Client: {}, Server: {}}, ready: map[string]*jsonschema.Schema{}, c: jsonschema.NewCompiler()}
	at := "#/$defs/"
	if s.defs == nil {
		s.defs, at = top.Definitions, "#/definitions/"
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err == nil {
		err = s.c.AddResource(s.url, doc)
	}
	if err != nil {
		panic(err)
	}
	s.url += at
	for _, name := range slices.Sorted(maps.Keys(s.defs)) {
		if m := s.methodOf(name); m != "" && (strings.HasSuffix(name, "Request") || strings.HasSuffix(name, "Notification")) && name != "ClientNotification" {
			s.methods[m] = name
		}
	}
	for _, kind := range []string{"Request", "Notification"} {
		for _, name := range s.unionOf("Client" + kind) {
			s.senders[Client][name] = true
		}
		for _, name := range s.unionOf("Server" + kind) {
			s.senders[Server][name] = true
		}
	}
	return s
}

// methodOf gives the one method of a definition.
func (s *schema) methodOf(name string) string {
	var d struct {
		Properties struct {
			Method struct{ Const string }
		}
	}
	if json.Unmarshal(s.defs[name], &d) != nil {
		return ""
	}
	return d.Properties.Method.Const
}

// unionOf gives the names of the definitions that a definition is one of. One that is written out stands for what has its method.
func (s *schema) unionOf(name string) []string {
	var d struct {
		AnyOf []struct {
			Ref string `json:"$ref"`
		}
	}
	if s.defs[name] == nil || json.Unmarshal(s.defs[name], &d) != nil {
		return nil
	}
	var all []string
	for _, one := range d.AnyOf {
		all = append(all, one.Ref[strings.LastIndexByte(one.Ref, '/')+1:])
	}
	if m := s.methodOf(name); m != "" {
		all = append(all, s.methods[m])
	}
	return all
}

// checkText holds JSON against a definition.
func (s *schema) checkText(text []byte, name string) error {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	d, err := s.compileDefinition(name)
	if err != nil {
		return err
	}
	if err := d.Validate(v); err != nil {
		return fmt.Errorf("no %s of %s: %w", name, s.version, err)
	}
	return nil
}

func (s *schema) compileDefinition(name string) (*jsonschema.Schema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d := s.ready[name]; d != nil {
		return d, nil
	}
	d, err := s.c.Compile(s.url + name)
	if err != nil {
		return nil, err
	}
	s.ready[name] = d
	return d, nil
}

// resultOf gives the definition of the result of a request; "" if the version does not know the method.
func (s *schema) resultOf(method string, task bool) string {
	request := s.methods[method]
	if request == "" {
		return ""
	}
	name := strings.TrimSuffix(request, "Request") + "Result"
	if _, known := s.defs[name]; !known {
		return "EmptyResult"
	}
	if task {
		return "CreateTaskResult"
	}
	return name
}

// asksInside are the requests that a server may answer with questions.
var asksInside = map[string]bool{"tools/call": true, "prompts/get": true, "resources/read": true}

// failures are the definitions of error responses that say more than JSONRPCErrorResponse, by code.
var failures = map[int64]string{-32020: "HeaderMismatchError", -32021: "MissingRequiredClientCapabilityError", -32022: "UnsupportedProtocolVersionError"}

// failureOf gives the definitions of an error response.
func (s *schema) failureOf(code int64) string {
	if name := failures[code]; s.version >= Modern && name != "" {
		return name
	}
	if s.defs["JSONRPCErrorResponse"] == nil {
		return "JSONRPCError" // up to 2025-06-18
	}
	return "JSONRPCErrorResponse"
}
