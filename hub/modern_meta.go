package hub

import (
	"fmt"
	"slices"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/tasks"
	"mcphub/internal/jsonrpc"
)

// requestMeta is what a modern request says of its client, for itself alone:
// nothing of it is taken over to another request.
type requestMeta struct {
	caps  clientCaps
	level logLevel // of the messages that the client wants; 0: none
	token []byte   // for progress, raw; nil for none
}

// readMeta reads _meta of a modern request. A required member that is missing,
// or a known one of an odd shape, is -32602; a version that is not served -32022
// (2026-07-28, basic/index, _meta).
func readMeta(m *jsonrpc.Message) (meta requestMeta, refusal jsonrpc.Answer, ok bool) {
	refuse := func(format string, args ...any) (requestMeta, jsonrpc.Answer, bool) {
		return requestMeta{}, jsonrpc.ErrorAnswer(jsonrpc.CodeInvalidParams, fmt.Sprintf(format, args...)), false
	}
	raw := m.Param("_meta")
	if !isObject(raw) {
		return refuse("a request of %s needs an object at /params/_meta, with %s and %s", modernVersion, metaVersion, metaCapabilities)
	}
	var named, caps, info, level []byte
	twice := ""
	err := jsonrpc.Members(raw, func(name string, value []byte) bool {
		var to *[]byte
		switch name {
		case metaVersion:
			to = &named
		case metaCapabilities:
			to = &caps
		case metaClient:
			to = &info
		case metaLevel:
			to = &level
		case "progressToken":
			to = &meta.token
		default:
			return true
		}
		if *to != nil {
			twice = name
		}
		*to = value
		return twice == ""
	})
	if err != nil || twice != "" {
		return refuse("_meta has the member %q twice, or cannot be read", twice)
	}
	version, isString := jsonrpc.String(named)
	if !isString {
		return refuse("a request without a handshake needs its version (a string) at /params/_meta/%s", pointerToken(metaVersion))
	}
	if version != modernVersion {
		return requestMeta{}, unsupportedVersion(version), false
	}
	if !isObject(caps) {
		return refuse("a request of %s needs the client's capabilities (an object) at /params/_meta/%s", modernVersion, pointerToken(metaCapabilities))
	}
	meta.caps = clientCaps{known: true, protocol: version}
	readCaps(caps, &meta.caps)
	// What this era does not have: such announcements, tasks of the client, and
	// questions that are not of the protocol.
	meta.caps.rootsChange, meta.caps.can.tasks, meta.caps.can.extensions = false, false, nil
	if info != nil {
		if !isObject(info) {
			return refuse("clientInfo is to be an object, at /params/_meta/%s", pointerToken(metaClient))
		}
		meta.caps.name, _ = jsonrpc.String(jsonrpc.Get(info, "name"))
		meta.caps.version, _ = jsonrpc.String(jsonrpc.Get(info, "version"))
	}
	if level != nil {
		if meta.level, ok = levelOf(level); !ok {
			return refuse("logLevel is to be one of debug, info, notice, warning, error, critical, alert and emergency, at /params/_meta/%s", pointerToken(metaLevel))
		}
	}
	return meta, jsonrpc.Answer{}, true
}

// pointerToken spells a name as a part of a JSON pointer (RFC 6901).
func pointerToken(name string) string {
	b := make([]byte, 0, len(name)+2)
	for i := range len(name) {
		switch name[i] {
		case '~':
			b = append(b, "~0"...)
		case '/':
			b = append(b, "~1"...)
		default:
			b = append(b, name[i])
		}
	}
	return string(b)
}

// unsupportedVersion is -32022, which names what is served.
func unsupportedVersion(version string) jsonrpc.Answer {
	data := []byte(`{"supported":[`)
	for i, v := range servedVersions {
		if i > 0 {
			data = append(data, ',')
		}
		data = jsonrpc.AppendString(data, v)
	}
	data = jsonrpc.AppendString(append(data, `],"requested":`...), version)
	e := &jsonrpc.Error{Code: mcp.UNSUPPORTED_PROTOCOL_VERSION, Message: "this version is not served", Data: append(data, '}')}
	return jsonrpc.Answer{Error: e.Raw()}
}

// core is a modern request as the core of the hub takes it: without what
// belongs to this hop alone. It is made anew, so what is judged and sent has
// nothing of the rest in it.
func core(m *jsonrpc.Message) (*jsonrpc.Message, error) {
	frame := make([]byte, 0, len(m.Frame))
	frame = append(append(frame, `{"jsonrpc":"2.0","id":`...), m.ID...)
	frame = jsonrpc.AppendString(append(frame, `,"method":`...), m.Method)
	frame = append(frame, `,"params":{`...)
	for _, mb := range m.Members {
		value := mb.Value
		switch mb.Name {
		case memberResponses:
			if m.Method != tasks.MethodUpdate { // where they are what the request is about
				continue
			}
		case memberState, "task": // tasks of 2025-11-25 are of the other era
			continue
		case "_meta":
			if value = ownMeta(value); value == nil {
				continue
			}
		}
		frame = jsonrpc.AppendMember(frame, mb.Name, value)
	}
	frame = append(frame, `}}`...)
	out := &jsonrpc.Message{}
	if err := jsonrpc.Split(frame, true, out); err != nil {
		return nil, err
	}
	return out, nil
}

// ownMeta is _meta without the members that are of one hop; nil where nothing
// else is in it.
func ownMeta(meta []byte) []byte {
	return without(meta, metaVersion, metaCapabilities, metaClient, metaLevel, metaServer, metaSubscription)
}

// without is a raw object without these members; nil where nothing else is in it.
func without(object []byte, names ...string) []byte {
	b := jsonrpc.AppendMembers([]byte{'{'}, object, func(name string) bool { return !slices.Contains(names, name) })
	if len(b) == 1 {
		return nil
	}
	return append(b, '}')
}
