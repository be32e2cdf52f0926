package validate

import (
	"strings"

	"mcphub/validate/budget"
	"mcphub/validate/chars"
	"mcphub/validate/uri"
)

// A server without templates slices the URI that it is handed by hand. So what follows the scheme is judged as what such a
// server would open.

const maxEnds = 4 // components that a server may cut off the path of a URI

// sliced judges what follows the scheme of a URI, from each of its slashes on. That a URI holds no path is the rule, so
// every slice counts only where something is there. The schemes of the web count only where the child itself says by a
// template that it serves them.
func (d *detector) sliced(id int32, spellings, templates []string) {
	p := place{key: -1}
	if len(spellings[0]) > uri.MaxLength && len(templates) > 0 {
		d.add(Finding{Value: spellings[0], How: HowURI, node: id}, p) // longer than what templates are held against
		return
	}
	for _, s := range spellings {
		rest, ok := uri.AfterScheme(s, templates)
		if !ok {
			continue
		}
		rest = strings.TrimPrefix(rest, "//")
		begin := 0
		for n := 0; d.work.Spend(budget.FindSteps); n++ {
			if n < 2 && rest[begin:] != "" && rest[begin] != '/' { // the path of a URL, or one whose first slash is left out
				if _, err := d.m.FS.Lstat("/" + rest[begin:]); err == nil {
					d.slice(id, "/"+rest[begin:], p)
				}
			}
			// What climbs within the path is part of the slices before it; behind the host it is not.
			if n < 2 || !strings.HasPrefix(chars.DecodePercent(rest[begin:]), "..") {
				d.slice(id, rest[begin:], p)
			}
			next := strings.IndexByte(rest[begin:], '/')
			if next < 0 || begin+next+1 >= len(rest) {
				break
			}
			begin += next + 1
		}
	}
}

// slice judges one path that a URI may hold, and what stands before its last components.
func (d *detector) slice(id int32, s string, p place) {
	for range maxEnds {
		if s == "" {
			return
		}
		for range 2 {
			if _, ok := d.broadly(s); ok {
				d.add(Finding{Value: s, How: HowURI, form: formWord, node: id}, p)
			} else if s[0] != '/' {
				d.name(id, s, p, false)
			}
			decoded := chars.DecodePercent(s)
			if decoded == s {
				break
			}
			s = decoded
		}
		i := strings.LastIndexByte(s, '/')
		if i <= 0 {
			return
		}
		s = s[:i]
	}
}
