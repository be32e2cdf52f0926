package modern

import (
	"fmt"

	"github.com/mark3labs/mcp-go/mcp"

	"mcphub/hub/declaration"
	"mcphub/internal/jsonrpc"
	"mcphub/internal/methods"
	"mcphub/validate/strictjson"
)

// Meta is what a request says about its client. It holds for that request
// alone: none of it is taken over to another one.
type Meta struct {
	Claims        declaration.Claims
	Level         declaration.Level // of the messages that the client wants; 0: none
	ProgressToken []byte            // for progress, raw; nil for none
}

// ReadMeta reads _meta of a request. A required member that is missing,
// or a known one of an odd shape, is -32602; a version that is not served -32022
// (2026-07-28, basic/index, _meta).
func ReadMeta(m *jsonrpc.Message) (meta Meta, refusal jsonrpc.Answer, ok bool) {
	refuse := func(format string, args ...any) (Meta, jsonrpc.Answer, bool) {
		return Meta{}, jsonrpc.RefuseParams(fmt.Sprintf(format, args...)), false
	}
	raw := m.Param("_meta")
	if !jsonrpc.IsObject(raw) {
		return refuse("a request of %s needs an object at /params/_meta, with %s and %s", Version, MetaVersion, MetaCapabilities)
	}
	var named, caps, info, level []byte
	twice := ""
	err := jsonrpc.Members(raw, func(name string, value []byte) bool {
		var to *[]byte
		switch name {
		case MetaVersion:
			to = &named
		case MetaCapabilities:
			to = &caps
		case MetaClient:
			to = &info
		case MetaLevel:
			to = &level
		case "progressToken":
			to = &meta.ProgressToken
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
		return refuse("a request without a handshake needs its version (a string) at /params/_meta/%s", strictjson.EscapeToken(MetaVersion))
	}
	if version != Version {
		return Meta{}, unsupportedVersion(version), false
	}
	if !jsonrpc.IsObject(caps) {
		return refuse("a request of %s needs the client's capabilities (an object) at /params/_meta/%s", Version, strictjson.EscapeToken(MetaCapabilities))
	}
	meta.Claims = declaration.Claims{Known: true, Protocol: version}
	meta.Claims.Read(caps)
	// This era has no such announcements, no tasks of the client, and no questions
	// that are not of the protocol.
	meta.Claims.RootsChange, meta.Claims.Can.Tasks, meta.Claims.Can.Extensions = false, false, nil
	if info != nil {
		if !jsonrpc.IsObject(info) {
			return refuse("clientInfo is to be an object, at /params/_meta/%s", strictjson.EscapeToken(MetaClient))
		}
		meta.Claims.Name, _ = jsonrpc.GetString(info, "name")
		meta.Claims.Version, _ = jsonrpc.GetString(info, "version")
	}
	if level != nil {
		if meta.Level, ok = declaration.ReadLevel(level); !ok {
			return refuse("logLevel is to be one of debug, info, notice, warning, error, critical, alert and emergency, at /params/_meta/%s", strictjson.EscapeToken(MetaLevel))
		}
	}
	return meta, jsonrpc.Answer{}, true
}

// unsupportedVersion is -32022, which names what is served.
func unsupportedVersion(version string) jsonrpc.Answer {
	data := jsonrpc.AppendStrings([]byte(`{"supported":`), servedVersions)
	data = jsonrpc.AppendString(append(data, `,"requested":`...), version)
	e := &jsonrpc.Error{Code: mcp.UNSUPPORTED_PROTOCOL_VERSION, Message: "this version is not served", Data: append(data, '}')}
	return jsonrpc.Answer{Error: e.Raw()}
}

// StripHopMembers returns a request without what belongs to this hop alone. It is made
// again, so what is judged and sent has nothing of the rest in it.
func StripHopMembers(m *jsonrpc.Message) (*jsonrpc.Message, error) {
	frame := make([]byte, 0, len(m.Frame))
	frame = append(append(frame, `{"jsonrpc":"2.0","id":`...), m.ID...)
	frame = jsonrpc.AppendString(append(frame, `,"method":`...), m.Method)
	frame = append(frame, `,"params":{`...)
	for _, mb := range m.Members {
		value := mb.Value
		switch mb.Name {
		case MemberResponses:
			if m.Method != methods.UpdateTask { // if they are what the request is about
				continue
			}
		case MemberState, "task": // tasks of 2025-11-25 belong to the other era
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

// ownMeta returns _meta without the members that belong to one hop; nil if
// nothing else is in it.
func ownMeta(meta []byte) []byte {
	return jsonrpc.Without(meta, MetaVersion, MetaCapabilities, MetaClient, MetaLevel, MetaServer, MetaSubscription)
}
