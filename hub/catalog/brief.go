package catalog

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mcphub/internal/jsonrpc"
	"mcphub/internal/printable"
)

// This file names the servers whose tools a client does not see listed: a model that reads what is behind a search makes one.

// maxBrief is how many characters the names of all servers and of some of their tools have.
const maxBrief = 1000

// Servers returns the servers with the names of some of their tools, in at most maxBrief characters, if tools are found by a search
// alone; else "". Nothing else that servers say is in it.
func (catalog *Catalog) Servers() string { return catalog.servers() }

// nameServers makes what Servers returns.
func (catalog *Catalog) nameServers() string {
	var servers []string
	for i := range catalog.by.cfg.Children {
		if name := catalog.by.cfg.Children[i].Name; !catalog.denied[name] {
			servers = append(servers, name)
		}
	}
	tools := map[string][]string{}
	for _, t := range catalog.onLists {
		tools[t.Child] = append(tools[t.Child], printable.Escape(t.Shown(), 100))
	}
	return briefServers(servers, tools)
}

func briefServers(servers []string, tools map[string][]string) string {
	const start, end = "Servers: ", "."
	left := maxBrief - len(start) - len(end)
	for i, name := range servers {
		more := ", and " + strconv.Itoa(len(servers)-i) + " more"
		if left -= utf8.RuneCountInString(name) + len(", "); left < len(more) {
			return start + strings.Join(servers[:i], ", ") + more + end
		}
	}
	said := slices.Clone(servers)
	for i, name := range servers {
		share := left / (len(servers) - i) // what one server leaves over is for those that follow
		if text := briefTools(tools[name], share); text != "" {
			said[i] += text
			left -= utf8.RuneCountInString(text)
		}
	}
	if len(said) == 0 {
		return ""
	}
	return start + strings.Join(said, ", ") + end
}

// briefTools returns names of tools, in at most so many characters; "" if none has room.
func briefTools(names []string, most int) string {
	const start, rest, end = " (", ", …", ")"
	text, n := "", len(start)+len(end)
	for i, name := range names {
		part, after := name, utf8.RuneCountInString(rest)
		if i > 0 {
			part = ", " + name
		}
		if i == len(names)-1 {
			after = 0
		}
		if n += utf8.RuneCountInString(part); n+after > most {
			if text == "" {
				return ""
			}
			return start + text + rest + end
		}
		text += part
	}
	if text == "" {
		return ""
	}
	return start + text + end
}

// withServers adds the servers to the description of a tool.
func withServers(def []byte, servers string) []byte {
	said := jsonrpc.Get(def, "description")
	text, ok := jsonrpc.String(said)
	if servers == "" || !ok {
		return def
	}
	return jsonrpc.Join(jsonrpc.Splice(def, jsonrpc.Edit{Old: said, With: jsonrpc.AppendString(nil, text+" "+servers)}))
}
