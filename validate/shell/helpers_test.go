package shell

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"mcphub/validate/access"
	"mcphub/validate/budget"
)

const depth = 128 // how deep commands may stand in each other

// kindNames are the kinds of use by the names of the table.
var kindNames = func() map[Kind]string {
	names := make(map[Kind]string)
	for name, kind := range useKinds {
		names[kind] = name
	}
	return names
}()

// nameOf writes a use as the table does. A question mark stands behind it if the program is not known, and what it would be
// without a doubt in brackets.
func nameOf(u Use) string {
	name := kindNames[u.Kind]
	if u.Role != access.None {
		if u.Kind == UsePath {
			name = u.Role.String()
		} else {
			name += "/" + u.Role.String()
		}
	}
	if u.Was != UsePath {
		name += "(" + kindNames[u.Was] + ")"
	}
	if !u.Known {
		name += "?"
	}
	return name
}

// short returns a text as it stands, or quoted if it has a blank or a sign that does not print.
func short(s string) string {
	s = strings.ReplaceAll(s, substituted, "□")
	if q := strconv.Quote(s); s == "" || strings.ContainsAny(s, " ;") || q != `"`+s+`"` && strings.ContainsAny(q, `\`) && !strings.ContainsAny(s, `"\`) {
		return q
	}
	return s
}

// brief writes an item: the text from where its value begins, what it is used for, and whatever else holds for it.
func brief(item *Item) string {
	at := min(item.At, len(item.Text))
	text := short(item.Text)
	if at > 0 {
		text = item.Text[:at] + "|" + item.Text[at:]
	}
	var b strings.Builder
	b.WriteString(text + "=" + nameOf(item.Use))
	for _, flag := range []struct {
		on   bool
		name string
	}{{item.Position == Command, "run"}, {item.Position == Written, "written"}, {item.Redirect, "redirect"}, {item.Captured, "captured"}, {item.Filed, "filed"}, {item.Crude, "crude"}, {item.Whole, "whole"}, {item.Course.Lost, "lost"}} {
		if flag.on {
			b.WriteString(" " + flag.name)
		}
	}
	if item.Course.Dir != "" {
		fmt.Fprintf(&b, " in %s", strings.ReplaceAll(item.Course.Dir, "\x00", " > "))
		b.WriteString([]string{"?", "", "!"}[item.Course.Sure])
	}
	return b.String()
}

// told writes what a reader has made of a shell string.
func told(r *Reader) string {
	var list []string
	for i := range r.Items {
		list = append(list, brief(&r.Items[i]))
	}
	out := strings.Join(list, "; ")
	if r.Odd {
		out += " | odd"
	}
	if r.Reads {
		out += " | reads"
	}
	if r.Fault != "" {
		out += " | " + r.Fault
	}
	return out
}

// row is a shell string and what is made of it.
type row struct{ text, want string }

// reads checks what is made of shell strings.
func reads(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		if got := told(Read(r.text, depth, budget.New(0))); got != r.want {
			t.Errorf("{`%s`, `%s`},\nwant %s", r.text, got, r.want)
		}
	}
}

// words makes arguments of the fields of a text. "??" before one makes it loose, and "-?" one that may be an option.
func words(s string) []Argument {
	var list []Argument
	for _, f := range strings.Fields(s) {
		a := Argument{Text: f}
		if text, ok := strings.CutPrefix(f, "-?"); ok {
			a = Argument{Text: text, option: true}
		} else if text, ok := strings.CutPrefix(f, "??"); ok {
			a = Argument{Text: text, loose: true}
		}
		list = append(list, a)
	}
	return list
}

// used writes what a command makes of its words.
func used(s string, doubt bool) string {
	list := words(s)
	u := UsageOf(list, doubt)
	var out []string
	for i := range list {
		text := list[i].Text
		if at := u.Uses[i].At; at > 0 {
			text = text[:at] + "|" + text[at:]
		}
		out = append(out, text+"="+nameOf(u.Uses[i]))
	}
	for _, flag := range []struct {
		on   bool
		name string
	}{{u.doubt, "doubt"}, {u.Here, "here"}, {u.Host, "host"}, {u.Roams(), "roams"}} {
		if flag.on {
			out = append(out, "| "+flag.name)
		}
	}
	return strings.Join(out, " ")
}

// panics returns what a function panics with, "" if it does not.
func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}
