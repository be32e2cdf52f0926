package status

import (
	"maps"
	"slices"

	"mcphub/children"
	"mcphub/hub/catalog"
	"mcphub/hub/configuration"
	"mcphub/internal/printable"
)

// Server is one server as list-tools shows it.
type Server struct {
	Name       string     `json:"name"`
	State      string     `json:"state"`
	Share      string     `json:"share,omitempty"` // who shares its process: session, roots or all
	Error      string     `json:"error,omitempty"`
	Stderr     string     `json:"stderr,omitempty"`
	Restarts   int        `json:"restarts,omitempty"`
	Tools      []Tool     `json:"tools"`
	NotOffered []Omission `json:"notOffered,omitempty"`
	Mended     []Omission `json:"mended,omitempty"` // offered in another form than the server gave it
}

// Tool is one tool of a server.
type Tool struct {
	Name        string `json:"name"`              // towards the client
	ToolName    string `json:"toolName"`          // the child's own, or what hub.json calls it; for call-tool
	OwnName     string `json:"ownName,omitempty"` // the child's own, of a tool that hub.json renames
	Description string `json:"description,omitempty"`
	Note        string `json:"note,omitempty"`
}

func toolOf(t *catalog.Tool) Tool {
	out := Tool{Name: t.Name, ToolName: t.Shown(), Description: t.Description(), Note: t.Note()}
	if t.OwnName != out.ToolName {
		out.OwnName = t.OwnName
	}
	return out
}

// ServerTools are the tools of a server as it listed them last, for a person who looks after the hub.
type ServerTools struct {
	Server string        `json:"server"`
	Tokens int           `json:"tokens"`
	Tools  []OfferedTool `json:"tools"`
	Hidden []string      `json:"hidden,omitempty"` // tools that hub.json excludes, as the server calls them
}

// OfferedTool is a tool that clients are offered.
type OfferedTool struct {
	Tool
	Tokens int `json:"tokens"` // see [Child]
}

// ServerToolsOf reports what each child offers.
func ServerToolsOf(offers map[string]*catalog.Offer) []ServerTools {
	out := []ServerTools{}
	for _, name := range slices.Sorted(maps.Keys(offers)) {
		r := ServerTools{Server: name, Tokens: offers[name].Tokens(), Tools: []OfferedTool{}}
		for _, t := range offers[name].Tools {
			r.Tools = append(r.Tools, OfferedTool{toolOf(t), catalog.Tokens(t.Def)})
		}
		r.Hidden = append(r.Hidden, offers[name].Hidden...)
		out = append(out, r)
	}
	return out
}

// Omission is a tool, or another thing, that is left out, or a remark about one.
type Omission struct {
	Tool   string `json:"tool"`
	Reason string `json:"reason"`
}

func omissionsOf(all []catalog.Omission) (r []Omission) {
	for _, left := range all {
		r = append(r, Omission{printable.Escape(left.Name, 100), printable.Escape(left.Reason, 1000)})
	}
	return r
}

// Servers is the answer of list-tools.
type Servers struct {
	Servers    []Server    `json:"servers"`
	Extensions []Extension `json:"extensions,omitempty"`
}

// ServersOf reports the servers of a catalogue; with a name that one alone. of reports how each stands,
// and stderr what of its output the session may see.
func ServersOf(c *catalog.Catalog, conf *configuration.Configuration, only string, of func(name string) children.Status, stderr func(children.Status) string) Servers {
	out := Servers{Servers: []Server{}, Extensions: ExtensionsOf(c.Extensions())}
	for _, name := range conf.ServedNames() {
		if only != "" && only != name {
			continue
		}
		st := of(name)
		r := Server{Name: name, State: st.State.String(), Share: conf.Child(name).Spec.Share.String(), Error: printable.Clean(st.Err), Restarts: st.Restarts, Tools: []Tool{}}
		if st.State != children.Ready {
			r.Stderr = stderr(st)
		}
		for _, o := range c.Tools() {
			if o.Child == name {
				r.Tools = append(r.Tools, toolOf(o))
			}
		}
		r.NotOffered, r.Mended = omissionsOf(c.Omitted(name)), omissionsOf(c.Mended(name))
		out.Servers = append(out.Servers, r)
	}
	for _, b := range conf.Broken {
		if only == "" || only == b.Name {
			out.Servers = append(out.Servers, Server{Name: b.Name, State: "not configured", Error: b.Reason, Tools: []Tool{}})
		}
	}
	return out
}

// An Extension is one extension or experimental capability that clients are
// offered.
type Extension struct {
	Key          string   `json:"key"`
	Experimental bool     `json:"experimental,omitempty"`
	Server       string   `json:"server"`              // whose settings of it clients are shown
	Contested    []string `json:"contested,omitempty"` // other servers that have it too
}

// ExtensionsOf reports what children offer beyond the protocol.
func ExtensionsOf(all catalog.Extensions) (r []Extension) {
	for _, x := range all {
		r = append(r, Extension{printable.Escape(x.Key, 200), x.Experimental, x.Owners[0], x.Owners[1:]})
	}
	return r
}
